package helm

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Labels that Helm itself puts on release records.
const (
	labelName    = "name"
	labelStatus  = "status"
	labelVersion = "version"
)

// Releases lists the newest record of every release on the cluster, by
// namespace/name, whoever made it. It reads metadata only, page by page: the
// records themselves hold whole charts.
func (c *Client) Releases(ctx context.Context) (map[string]release.Observed, error) {
	return c.list(ctx, metav1.NamespaceAll, labels.Set{manifest.LabelOwner: manifest.Owner})
}

// Release reads the newest record of one release, nil when there is none.
func (c *Client) Release(ctx context.Context, namespace, name string) (*release.Observed, error) {
	found, err := c.list(ctx, namespace, labels.Set{manifest.LabelOwner: manifest.Owner, labelName: name})
	if err != nil {
		return nil, err
	}
	if observed, ok := found[release.Key(namespace, name)]; ok {
		return &observed, nil
	}
	return c.doubted(ctx, namespace, name)
}

func (c *Client) list(ctx context.Context, namespace string, selector labels.Set) (map[string]release.Observed, error) {
	secrets, err := c.secrets(namespace)
	if err != nil {
		return nil, err
	}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return secrets.List(ctx, options)
	})
	newest := map[string]release.Observed{}
	current := labels.SelectorFromSet(selector).String() + "," + labelStatus + "!=" + string(release.StatusSuperseded)
	err = pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: current}, func(item runtime.Object) error {
		record, ok := item.(metav1.Object)
		if !ok {
			return fmt.Errorf("unexpected item %T in a list of secrets", item)
		}
		observed := observe(record)
		key := release.Key(observed.Namespace, observed.Release)
		if previous, ok := newest[key]; !ok || previous.Revision < observed.Revision {
			newest[key] = observed
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the release records: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, observed := range newest {
		c.seen[key] = observed.Revision
	}
	return newest, nil
}

// doubted reads by its name the record of a release that was seen before and that a
// list lacks now, nil when it is gone: a list can be empty for other reasons than
// that there is nothing.
func (c *Client) doubted(ctx context.Context, namespace, name string) (*release.Observed, error) {
	c.mu.Lock()
	revision, ok := c.seen[release.Key(namespace, name)]
	c.mu.Unlock()
	if !ok {
		return nil, nil //nolint:nilnil // a missing release is an answer, not an error
	}
	secrets, err := c.secrets(namespace)
	if err != nil {
		return nil, err
	}
	record, err := secrets.Get(ctx, recordName(name, revision), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a missing release is an answer, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("reading a release record that was there before: %w", err)
	}
	observed := observe(record)
	return &observed, nil
}

func (c *Client) secrets(namespace string) (metadata.ResourceInterface, error) {
	config, err := c.getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the connection: %w", err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace), nil
}

// observe reads what the labels of a release record say.
func observe(record metav1.Object) release.Observed {
	read := record.GetLabels()
	// A record whose version is no number was not written by Helm; revision 0
	// then never matches a mark.
	revision, _ := strconv.Atoi(read[labelVersion])
	return release.Observed{
		Release:   read[labelName],
		Namespace: record.GetNamespace(),
		Revision:  revision,
		Status:    release.Status(read[labelStatus]),
		Mark:      markOf(read),
	}
}

// recordName is the name of the secret that holds a revision.
func recordName(name string, revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision)
}
