package helm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Versions returns the versions of objects that values come from: uid and resourceVersion, ""
// for an object that does not exist.
func (c *Client) Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error) {
	versions := make(map[target.Reference]string, len(references))
	for _, reference := range references {
		object, err := readValuesObject(ctx, c.connection, reference)
		if apierrors.IsNotFound(err) {
			versions[reference] = ""
			continue
		}
		if err != nil {
			return nil, err
		}
		versions[reference] = object.version
	}
	return versions, nil
}

// valuesObject is a ConfigMap or a Secret.
type valuesObject struct {
	version string
	data    map[string]string
}

func readValuesObject(ctx context.Context, connection *connection, reference target.Reference) (valuesObject, error) {
	of := func(meta metav1.ObjectMeta, data map[string]string) valuesObject {
		return valuesObject{version: string(meta.UID) + "/" + meta.ResourceVersion, data: data}
	}
	if reference.Kind == target.Secret {
		secret, err := connection.Typed().CoreV1().Secrets(reference.Namespace).Get(ctx, reference.Name, metav1.GetOptions{})
		if err != nil {
			return valuesObject{}, fmt.Errorf("reading %s: %w", reference, err)
		}
		data := make(map[string]string, len(secret.Data))
		for key, value := range secret.Data {
			data[key] = string(value)
		}
		return of(secret.ObjectMeta, data), nil
	}
	found, err := connection.Typed().CoreV1().ConfigMaps(reference.Namespace).Get(ctx, reference.Name, metav1.GetOptions{})
	if err != nil {
		return valuesObject{}, fmt.Errorf("reading %s: %w", reference, err)
	}
	return of(found.ObjectMeta, found.Data), nil
}

// withValuesFrom merges values from objects on the cluster over the values of the deployment
// (Fleet: internal/helmdeployer/install.go).
func withValuesFrom(ctx context.Context, connection *connection, masker *mask.Masker, d target.Deployment) (target.Deployment, error) {
	sources := d.ValuesFrom()
	if len(sources) == 0 {
		return d, nil
	}
	objects := map[target.Reference]valuesObject{}
	values := d.PlainValues()
	for _, source := range sources {
		object, known := objects[source.Reference]
		if !known {
			found, err := readValuesObject(ctx, connection, source.Reference)
			if apierrors.IsNotFound(err) {
				return d, fmt.Errorf("helm.valuesFrom: %s does not exist on the cluster", source.Reference)
			}
			if err != nil {
				return d, err
			}
			objects[source.Reference], object = found, found
		}
		laid, err := object.values(source)
		if err != nil {
			return d, err
		}
		if source.Kind == target.Secret {
			masker.AddValues(laid)
		}
		values = fleetyaml.MergeValues(values, laid)
	}
	options := *d.Options.Helm
	options.Values = values
	d.Options.Helm = &options
	return d, nil
}

func (o valuesObject) values(source target.Source) (map[string]any, error) {
	text, ok := o.data[source.Key]
	if !ok {
		return nil, fmt.Errorf("helm.valuesFrom: %s has no key %q", source.Reference, source.Key)
	}
	var laid map[string]any
	if yaml.Unmarshal([]byte(text), &laid) != nil {
		// The parser's error can contain data of the object.
		return nil, fmt.Errorf("helm.valuesFrom: key %q of %s is not a map in YAML", source.Key, source.Reference)
	}
	return laid, nil
}
