package render

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// NotADefinitionError reports that the folder crds/ of a bundle that is restricted to one namespace
// contains an object that is not a custom resource definition. Helm creates the objects in that
// folder unchanged, in any namespace.
type NotADefinitionError struct {
	Kind, Name, File, Namespace string
	Spelling                    fleetyaml.Spelling
}

func (e *NotADefinitionError) Error() string {
	return fmt.Sprintf("%s: %s %s is not a custom resource definition, but the bundle is restricted to namespace %s; "+
		"move it to templates/, or use %s instead of namespace", e.File, e.Kind, e.Name, e.Namespace, e.Spelling.Name("defaultNamespace"))
}

// CheckCRDs checks the objects below crds/. Helm creates them before it stores a release, and they
// can be of any kind.
func CheckCRDs(c *chart.Chart, d target.Deployment) error {
	for _, crd := range c.CRDObjects() {
		if _, err := readCRD(crd.Filename, crd.File.Data, d); err != nil {
			return err
		}
	}
	return nil
}

// readCRD reads the objects in a file below crds/, without lists, and checks them.
func readCRD(name string, content []byte, d target.Deployment) ([]*unstructured.Unstructured, error) {
	parsed, err := manifest.ParseAll(content)
	if err != nil {
		return nil, &ManifestError{Bundle: d.Bundle.Name, Err: &PlaceError{Place: name, Err: err}}
	}
	if err := manifest.RefuseRecords(parsed, d.Namespace); err != nil {
		return nil, err
	}
	objects := manifest.Flatten(parsed)
	for _, object := range objects {
		if object.GetName() == "" && object.GetGenerateName() == "" {
			return nil, &ManifestError{Bundle: d.Bundle.Name, Err: fmt.Errorf("%s: a %s has no name", name, object.GetKind())}
		}
		if d.Options.Namespace != "" && object.GetKind() != manifest.CRDKind {
			return nil, &NotADefinitionError{
				Kind: object.GetKind(), Name: object.GetName(),
				File: name, Namespace: d.Namespace, Spelling: d.Bundle.Spelling(),
			}
		}
	}
	return objects, nil
}
