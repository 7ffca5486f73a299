package render

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// NotADefinitionError says that the folder crds/ of a bundle which must stay in one
// namespace contains something else than custom resource definitions. Helm makes what is in
// that folder as it is, in any namespace.
type NotADefinitionError struct {
	Kind, Name, File, Namespace string
}

func (e *NotADefinitionError) Error() string {
	return fmt.Sprintf("%s: %s %s is not a custom resource definition, but the bundle is restricted to namespace %s; "+
		"move it to templates/, or use defaultNamespace instead of namespace", e.File, e.Kind, e.Name, e.Namespace)
}

// CheckCRDs looks at what Helm makes before it stores a release: what is below crds/, which
// can be objects of any kind.
func CheckCRDs(c *chart.Chart, d target.Deployment) error {
	for _, crd := range c.CRDObjects() {
		objects, err := manifest.ParseAll(crd.File.Data)
		if err != nil {
			return &ManifestError{Bundle: d.Bundle.Name, Err: fmt.Errorf("%s: %w", crd.Filename, err)}
		}
		if err := manifest.RefuseRecords(objects, d.Namespace); err != nil {
			return err
		}
		for _, object := range manifest.Flatten(objects) {
			if object.GetName() == "" && object.GetGenerateName() == "" {
				return &ManifestError{Bundle: d.Bundle.Name, Err: fmt.Errorf("%s: a %s has no name", crd.Filename, object.GetKind())}
			}
			if d.Options.Namespace != "" && object.GetKind() != manifest.CRDKind {
				return &NotADefinitionError{Kind: object.GetKind(), Name: object.GetName(), File: crd.Filename, Namespace: d.Namespace}
			}
		}
	}
	return nil
}
