package helm

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  annotations: {controller-gen.kubebuilder.io/version: v0.1}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  preserveUnknownFields: false
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, default: 1}}}}
status: {acceptedNames: {kind: "", plural: ""}, conditions: [], storedVersions: []}
`

// widgetsLive is the definition of widgets as an API server stores it.
const widgetsLive = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  resourceVersion: "7"
  annotations: {controller-gen.kubebuilder.io/version: v0.1, example.com/team: web}
spec:
  conversion: {strategy: None}
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {size: {default: 1, type: integer}}}}
status: {acceptedNames: {kind: Widget, plural: widgets}, conditions: [{type: Established, status: "True"}], storedVersions: [v1]}
`

func unmarshal(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestDefinitionDiffers(t *testing.T) {
	t.Parallel()
	set := func(value any, fields ...string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
				panic(err)
			}
		}
	}
	webhook := func(config map[string]any) map[string]any {
		config["service"] = map[string]any{"name": "hook", "namespace": "ns"}
		return map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": config}}
	}
	tests := map[string]struct {
		wanted, live func(*unstructured.Unstructured)
		want         bool
	}{
		"defaults of the API server": {},
		"another annotation":         {wanted: set("v0.2", "metadata", "annotations", "controller-gen.kubebuilder.io/version"), want: true},
		"another label":              {wanted: set("x", "metadata", "labels", "app"), want: true},
		"a label of others":          {live: set("x", "metadata", "labels", "app")},
		"another name":               {wanted: set([]any{"wd"}, "spec", "names", "shortNames"), want: true},
		"a name that is gone":        {live: set([]any{"wd"}, "spec", "names", "shortNames"), want: true},
		"a certificate of a controller": {
			wanted: set(webhook(map[string]any{}), "spec", "conversion"), live: set(webhook(map[string]any{"caBundle": "Q0E="}), "spec", "conversion"),
		},
		"another certificate": {
			wanted: set(webhook(map[string]any{"caBundle": "Q0Ey"}), "spec", "conversion"), live: set(webhook(map[string]any{"caBundle": "Q0E="}), "spec", "conversion"), want: true,
		},
		"no webhook any more": {live: set(webhook(map[string]any{"caBundle": "Q0E="}), "spec", "conversion"), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted, live := unmarshal(t, widgets), unmarshal(t, widgetsLive)
			if test.wanted != nil {
				test.wanted(wanted)
			}
			if test.live != nil {
				test.live(live)
			}
			got, err := definitionDiffers(live, wanted)
			if err != nil || got != test.want {
				t.Errorf("definitionDiffers() = %t, %v, want %t", got, err, test.want)
			}
			if version := replacementDefinition(live, wanted).GetResourceVersion(); version != "7" {
				t.Errorf("the replacement has resourceVersion %q", version)
			}
		})
	}
}
