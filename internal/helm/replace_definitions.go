package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/chart"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// CompareDefinitions compares custom resource definitions of a release with those on the
// cluster. Results are in the order of wanted.
func (c *Client) CompareDefinitions(
	ctx context.Context, namespace, name string, wanted []*unstructured.Unstructured,
) ([]release.Definition, error) {
	client := c.definitions()
	found := make([]release.Definition, len(wanted))
	for i, definition := range wanted {
		found[i].Name = definition.GetName()
		live, err := client.Get(ctx, definition.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			found[i].State = release.DefinitionMissing
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the custom resource definition %s: %w", definition.GetName(), err)
		}
		differs, err := definitionDiffers(live, definition)
		if err != nil {
			return nil, err
		}
		if !differs {
			continue
		}
		found[i].State = release.DefinitionDiffers
		if owner := ownerOfDefinition(live); owner != "" && owner != release.Key(namespace, name) {
			found[i].State, found[i].Owner = release.DefinitionForeign, owner
		}
	}
	return found, nil
}

func (c *Client) definitions() dynamic.ResourceInterface {
	return c.connection.Dynamic().Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
}

// ownerOfDefinition returns the release whose manifest contains a definition, "" for none.
// Definitions below crds/ of a chart belong to no release.
func ownerOfDefinition(live *unstructured.Unstructured) string {
	if live.GetAnnotations()[wellknown.ReleaseName] == "" {
		return ""
	}
	return ownerKey(live)
}

// definitionDiffers reports whether a replacement would change a live definition.
func definitionDiffers(live, wanted *unstructured.Unstructured) (bool, error) {
	before, err := typedDefinition(live)
	if err != nil {
		return false, err
	}
	after, err := typedDefinition(replacementDefinition(live, wanted))
	if err != nil {
		return false, err
	}
	return !apiequality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!apiequality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!apiequality.Semantic.DeepEqual(before.Annotations, after.Annotations), nil
}

// typedDefinition returns a definition with the defaults that an API server sets, and without
// fields that it drops.
func typedDefinition(definition *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": definition.GetLabels(), "annotations": definition.GetAnnotations(),
	}, "spec": definition.Object["spec"]})
	if err != nil {
		return nil, fmt.Errorf("writing the custom resource definition %s: %w", definition.GetName(), err)
	}
	var typed apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &typed); err != nil {
		return nil, fmt.Errorf("reading the custom resource definition %s: %w", definition.GetName(), err)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&typed)
	return &typed, nil
}

// replacementDefinition returns a live definition with the content of a chart's definition.
// Labels and annotations of others stay. The certificate that a controller has added to a
// conversion webhook stays too.
func replacementDefinition(live, wanted *unstructured.Unstructured) *unstructured.Unstructured {
	bundlePath := []string{"spec", "conversion", "webhook", "clientConfig", "caBundle"}
	made := live.DeepCopy()
	made.Object["spec"] = wanted.DeepCopy().Object["spec"]
	made.SetLabels(withMore(live.GetLabels(), wanted.GetLabels()))
	made.SetAnnotations(withMore(live.GetAnnotations(), wanted.GetAnnotations()))
	authority, has, err := unstructured.NestedString(live.Object, bundlePath...)
	_, given, _ := unstructured.NestedFieldNoCopy(wanted.Object, bundlePath...)
	_, converts, _ := unstructured.NestedMap(wanted.Object, bundlePath[:len(bundlePath)-1]...)
	if err == nil && has && converts && !given {
		_ = unstructured.SetNestedField(made.Object, authority, bundlePath...) // The parent folder is a map.
	}
	return made
}

func withMore(texts, more map[string]string) map[string]string {
	if len(texts) == 0 {
		return more
	}
	all := maps.Clone(texts)
	maps.Copy(all, more)
	return all
}

// replaceDefinitions creates missing definitions below crds/ of a chart, and replaces those that differ.
// It deletes none. With w.TakeOwnership or the takeOwnership option, it also replaces
// definitions of other releases.
func (c *Client) replaceDefinitions(ctx context.Context, op *operation, d target.Deployment, loaded *chart.Chart, w release.Write) error {
	wanted, err := render.Definitions(loaded.CRDObjects())
	if err != nil || len(wanted) == 0 {
		return err
	}
	found, err := c.CompareDefinitions(ctx, d.Namespace, d.Release, wanted)
	if err != nil {
		return err
	}
	takes := takesOwnership(d, w)
	var missing, written []*unstructured.Unstructured
	for i, definition := range found {
		switch {
		case definition.State == release.DefinitionForeign && !takes:
			return fmt.Errorf("the custom resource definition %s belongs to release %s and is not replaced; "+
				"set helm.crds to \"skip\" for one of the two charts", definition.Name, definition.Owner)
		case definition.State == release.DefinitionMissing:
			missing = append(missing, wanted[i])
		case definition.State != release.DefinitionSame:
			written = append(written, wanted[i])
		}
	}
	if len(missing)+len(written) == 0 {
		return nil
	}
	defer c.capabilities.forgetKinds()
	for _, definition := range written {
		if err := c.replaceDefinition(ctx, definition); err != nil {
			return err
		}
	}
	return op.createDefinitions(ctx, missing, written, w.Timeout)
}

// replaceDefinition writes one definition. It tries again on a conflict: a controller can write the
// status or the certificate at the same time.
func (c *Client) replaceDefinition(ctx context.Context, wanted *unstructured.Unstructured) error {
	client := c.definitions()
	err := onConflict(ctx, func() error {
		live, err := client.Get(ctx, wanted.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = client.Update(ctx, replacementDefinition(live, wanted), metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("replacing the custom resource definition %s: %w", wanted.GetName(), err)
	}
	return nil
}
