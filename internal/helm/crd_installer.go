package helm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/postrender"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// crdInstaller is a post-renderer that creates custom resource definitions before the
// resources of their kinds. Helm needs all kinds of a manifest before it creates the first
// object. So a manifest could not contain both a definition and a resource of its kind. The
// definitions that are created here name the release as owner, and Helm adopts them.
type crdInstaller struct {
	//nolint:containedctx // a post-renderer is handed none; it exists for one operation
	ctx          context.Context
	capabilities *capabilityReader
	op           *operation
	d            target.Deployment
	timeout      time.Duration
	next         postrender.PostRenderer
}

func (r crdInstaller) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	if r.next != nil {
		var err error
		if rendered, err = r.next.Run(rendered); err != nil {
			return nil, err
		}
	}
	if !bytes.Contains(rendered.Bytes(), []byte(manifest.CRDKind)) {
		return rendered, nil
	}
	objects, err := manifest.Parse(rendered.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading the rendered manifest: %w", err)
	}
	needed, err := r.neededNow(manifest.Flatten(objects))
	if err != nil || len(needed) == 0 {
		return rendered, err
	}
	return rendered, r.install(needed)
}

// neededNow returns the definitions whose kinds are used by other objects and are missing on
// the cluster.
func (r crdInstaller) neededNow(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	mapper, err := r.op.config.RESTClientGetter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the cluster: %w", err)
	}
	used := sets.New[schema.GroupKind]()
	for _, object := range objects {
		used.Insert(object.GroupVersionKind().GroupKind())
	}
	var needed []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() != manifest.CRDKind {
			continue
		}
		defined := definedKind(object)
		if !used.Has(defined) {
			continue
		}
		_, err := mapper.RESTMapping(defined)
		if meta.IsNoMatchError(err) {
			needed = append(needed, object.DeepCopy())
		} else if err != nil {
			return nil, fmt.Errorf("looking for the kind %s: %w", defined.Kind, err)
		}
	}
	return needed, nil
}

// definedKind returns the kind that a definition defines.
func definedKind(definition *unstructured.Unstructured) schema.GroupKind {
	text := func(path ...string) string {
		found, _, err := unstructured.NestedString(definition.Object, path...)
		if err != nil {
			return ""
		}
		return found
	}
	return schema.GroupKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")}
}

// install makes definitions and returns when their kinds are served.
func (r crdInstaller) install(definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		addTo(definition.GetAnnotations, definition.SetAnnotations, map[string]string{
			wellknown.ReleaseName: r.d.Release, wellknown.ReleaseNamespace: r.d.Namespace,
		})
		addTo(definition.GetLabels, definition.SetLabels, map[string]string{wellknown.ManagedBy: wellknown.ManagedByHelm})
	}
	stream, err := manifest.Join(definitions)
	if err != nil {
		return err
	}
	built, err := r.op.client.Build(strings.NewReader(stream), false)
	if err != nil {
		return fmt.Errorf("reading custom resource definitions: %w", err)
	}
	if _, err := r.op.client.Create(built); err != nil {
		return fmt.Errorf("creating custom resource definitions: %w", err)
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	if err := r.op.client.objects.WaitReady(ctx, built, release.Readiness{}); err != nil {
		return fmt.Errorf("waiting for custom resource definitions: %w", err)
	}
	r.capabilities.forget()
	return nil
}

func addTo(get func() map[string]string, set func(map[string]string), more map[string]string) {
	all := get()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	set(all)
}
