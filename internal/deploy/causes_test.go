package deploy_test

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestGroupByCause(t *testing.T) {
	t.Parallel()
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1/api?limit=500", Err: errors.New("connection refused")}
	unreachableError := func(cluster string) error { return &status.UnreachableError{Cluster: cluster, Err: refused} }
	const listed = "a hook failed\n\n" // As Helm ends a list of errors.
	failures := []deploy.Failure{
		{Cluster: "a", Bundle: "web", Err: unreachableError("a")},
		{Cluster: "a", Bundle: "db", Err: errors.New(listed)},
		{Cluster: "b", Bundle: "web", Err: fmt.Errorf("upgrading: %w", unreachableError("b"))},
		{Cluster: "c", Bundle: "web", Err: &status.DeniedError{Cluster: "c", Err: errors.New("forbidden")}},
		{Cluster: "d", Bundle: "web", Err: &status.DeniedError{Cluster: "d", Err: errors.New("forbidden")}},
		{Cluster: "e", Bundle: "web", Err: &status.BusyError{Cluster: "e", Err: errors.New("too many requests")}},
		{Cluster: "f", Bundle: "web", Err: status.Named(errors.New("it is full"), "installing release %s", "x")},
		{Cluster: "g", Bundle: "web", Err: status.Named(errors.New("it is full"), "installing release %s", "y")},
	}
	found := map[string][]string{}
	var order []string
	for _, cause := range deploy.GroupByCause(failures) {
		order = append(order, cause.Text)
		for _, key := range cause.Keys() {
			found[cause.Text] = append(found[cause.Text], key.String())
		}
	}
	want := map[string][]string{
		"the cluster does not respond (connection refused)": {"a/web", "b/web"},
		"a hook failed": {"a/db"},
		"the cluster denies the request (forbidden)":                                                     {"c/web", "d/web"},
		"the cluster cannot process the request now (too many requests)":                                 {"e/web"},
		"installing release x: it is full (this is the text for f/web, and others differ in names only)": {"f/web", "g/web"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("deployments by cause (-want +got):\n%s", diff)
	}
	if order[0] != "the cluster does not respond (connection refused)" || order[1] != "a hook failed" {
		t.Errorf("causes are not in the order of their first failures: %q", order)
	}
}
