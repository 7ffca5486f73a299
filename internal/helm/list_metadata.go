package helm

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/paging"
)

const (
	// metadataAtOnce is how many objects a page of metadata has.
	metadataAtOnce = 500
	// maxNamespace is the maximum size of the metadata in one namespace that a list reads, and
	// maxTotal that of all namespaces, in bytes. The metadata of a release record takes 1 to 2 kB.
	// Annotations can take 256 kB.
	maxNamespace = 32 << 20
	maxTotal     = 256 << 20
)

// eachMetadata calls see for the metadata of each object that a selector matches, until see returns
// an error. It can call see twice for the same object. It returns the namespaces whose metadata is
// larger than limit; see can have been called for some of their objects.
func eachMetadata(
	ctx context.Context, client metadata.ResourceInterface, selector string, limit int, see func(object *metav1.PartialObjectMetadata) error,
) (leftOut []string, err error) {
	list := paging.List[*metav1.PartialObjectMetadata]{
		Limit: metadataAtOnce, Namespace: limit, Total: maxTotal,
		Measure: func(of *metav1.PartialObjectMetadata) paging.Object {
			return paging.Object{Namespace: of.Namespace, Size: of.Size()}
		},
		Page: func(ctx context.Context, request paging.Request) ([]*metav1.PartialObjectMetadata, string, error) {
			page, err := client.List(ctx, pageOptions(request, selector))
			if err != nil {
				return nil, "", err
			}
			items := make([]*metav1.PartialObjectMetadata, len(page.Items))
			for i := range page.Items {
				items[i] = &page.Items[i]
			}
			return items, page.Continue, nil
		},
	}
	leftOut, err = list.Each(ctx, see)
	if apierrors.IsResourceExpired(err) { // The token of a page is valid for some minutes.
		leftOut, err = list.Each(ctx, see)
	}
	return leftOut, err
}

func pageOptions(request paging.Request, selector string) metav1.ListOptions {
	options := metav1.ListOptions{LabelSelector: selector, Limit: request.Limit, Continue: request.Continue}
	if request.Without != "" {
		options.FieldSelector = "metadata.namespace!=" + request.Without
	}
	return options
}
