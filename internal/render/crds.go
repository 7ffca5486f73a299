package render

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// NotADefinitionError reports that the folder crds/ of a bundle that is restricted to one namespace
// contains an object that is not a custom resource definition. Helm creates the objects in that
// folder unchanged, in any namespace.
type NotADefinitionError struct {
	Kind, Name, File, Namespace string
}

func (e *NotADefinitionError) Error() string {
	return fmt.Sprintf("%s: %s %s is not a custom resource definition, but the bundle is restricted to namespace %s; "+
		"move it to templates/, or use defaultNamespace instead of namespace", e.File, e.Kind, e.Name, e.Namespace)
}

// CheckCRDs checks the objects below crds/. Helm creates them before it stores a release, and they
// can be of any kind.
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
