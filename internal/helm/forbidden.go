package helm

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

// refuseBuiltRecords is manifest.RefuseRecords for objects as they are sent to an API server.
// It uses the kinds that the server has: a manifest can leave out the API version.
func refuseBuiltRecords(objects []*resource.Info) error {
	for _, info := range objects {
		kind := info.Mapping.GroupVersionKind
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		if err := manifest.RefuseRecord(kind.GroupKind(), object, info.Namespace); err != nil {
			return err
		}
	}
	return nil
}
