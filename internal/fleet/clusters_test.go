package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Groups are evaluated as in Fleet: internal/cmd/controller/target/query.go.
func TestGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		group   string // spec
		want    []string
		invalid bool
	}{
		{name: "labels", group: `{"selector":{"matchLabels":{"env":"prod"}}}`, want: []string{"b", "c"}},
		{name: "expressions", group: `{"selector":{"matchExpressions":[{"key":"env","operator":"In","values":["dev"]}]}}`, want: []string{"a"}},
		{name: "an empty selector selects all", group: `{"selector":{}}`, want: []string{"a", "b", "c"}},
		{name: "no selector selects nothing", group: `{}`},
		{name: "null selects nothing", group: `{"selector":null}`},
		{name: "an unknown operator selects nothing", group: `{"selector":{"matchExpressions":[{"key":"env","operator":"Near"}]}}`, invalid: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var object groupObject
			if err := json.Unmarshal([]byte(`{"metadata":{"name":"g","labels":{"tier":"1"}},"spec":`+test.group+`}`), &object); err != nil {
				t.Fatal(err)
			}
			var inventory Inventory
			for name, env := range map[string]string{"a": "dev", "b": "prod", "c": "prod"} {
				inventory.Clusters = append(inventory.Clusters, Cluster{Facts: target.Cluster{Name: name, Labels: map[string]string{"env": env}}})
			}
			inventory.addGroup(object)
			inventory.sort()
			if err := inventory.assignGroups(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, cluster := range inventory.Clusters {
				if len(cluster.Groups) > 0 {
					got = append(got, cluster.Facts.Name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("clusters in the group (-want +got):\n%s", diff)
			}
			if len(inventory.Groups) != 1 || inventory.Groups[0].Labels["tier"] != "1" {
				t.Errorf("groups: got %v, want one with its labels", inventory.Groups)
			}
			if got := len(inventory.Invalid) > 0; got != test.invalid {
				t.Errorf("invalid groups: got %v, want %v", inventory.Invalid, test.invalid)
			}
			// Targeting must have the same result.
			matched, err := target.Match([]target.Rule{{ClusterGroup: "g"}}, inventory.Facts(), inventory.Groups)
			if err != nil {
				t.Fatal(err)
			}
			got = nil
			for _, cluster := range matched {
				got = append(got, cluster.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("clusters that a rule with the group matches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClusterObject(t *testing.T) {
	t.Parallel()
	const content = `{
		"metadata": {
			"name": "eu-1",
			"labels": {"env": "prod", "management.cattle.io/cluster-display-name": "Europe"},
			"annotations": {"site": "fra", "kubectl.kubernetes.io/last-applied-configuration": "{...}"}
		},
		"spec": {"paused": true, "templateValues": {"zone": "a", "size": 3}},
		"status": {"namespace": "cluster-x", "display": {"state": "Ready\u001b[2Jbad"}, "agent": {"lastSeen": "2026-01-02T03:04:05Z"}}
	}`
	var object clusterObject
	if err := json.Unmarshal([]byte(content), &object); err != nil {
		t.Fatal(err)
	}
	got := object.cluster("fleet-default")
	want := target.Cluster{
		Name: "eu-1", Namespace: "fleet-default", DisplayName: "Europe", Paused: true,
		Labels:         map[string]string{"env": "prod", "management.cattle.io/cluster-display-name": "Europe"},
		Annotations:    map[string]string{"site": "fra"},
		TemplateValues: map[string]any{"zone": "a", "size": 3.0},
	}
	if diff := cmp.Diff(want, got.Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); !got.LastSeen.Equal(seen) || got.DeploymentNamespace != "cluster-x" {
		t.Errorf("got %+v, want an agent that was seen at %s, and the namespace cluster-x", got, seen)
	}
	if strings.ContainsRune(got.State, '\x1b') {
		t.Errorf("state %q contains a control character", got.State)
	}
}

func TestClusterState(t *testing.T) {
	t.Parallel()
	const seen = `"agent":{"lastSeen":"2026-01-02T03:04:05Z"}`
	tests := map[string]struct{ status, want string }{
		"never seen":               {status: `{"agent":{"lastSeen":null}}`, want: "WaitCheckIn"},
		"seen at no time of Go":    {status: `{"agent":{"lastSeen":"2026-01-02t03:04:05z"}}`, want: "WaitCheckIn"},
		"without a status":         {status: `{}`, want: "WaitCheckIn"},
		"nothing to show":          {status: `{` + seen + `}`, want: "Ready"},
		"the worst of its bundles": {status: `{"display":{"state":"Modified"},` + seen + `}`, want: "Modified"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var object clusterObject
			if err := json.Unmarshal([]byte(`{"status":`+test.status+`}`), &object); err != nil {
				t.Fatal(err)
			}
			cluster := object.cluster("fleet-default")
			if cluster.State != test.want {
				t.Errorf("state: got %q, want %q", cluster.State, test.want)
			}
			// A cluster that was never seen has no agent that would act.
			if offline := cluster.IsOffline(time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC), time.Minute); offline != (test.want == "WaitCheckIn") {
				t.Errorf("offline: got %v", offline)
			}
		})
	}
}

type connectionTo struct{ config *rest.Config }

func (c connectionTo) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// An API server can name a next page forever, or return objects without end.
func TestAttackInventory(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 1<<20)
	tests := map[string]struct {
		items string
		want  string
	}{
		"pages with objects":  {items: `{"metadata":{"name":"a"}}`, want: "10 objects"},
		"empty pages":         {items: ``, want: "10 objects"},
		"objects of any size": {items: `{"metadata":{"name":"a","annotations":{"a":"` + huge + `"}}}`, want: "3 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"metadata":{"continue":"after %d"},"items":[%s]}`, requests.Add(1), test.items)
			}))
			t.Cleanup(server.Close)
			client, err := newClient(connectionTo{&rest.Config{Host: server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			list := objectList[clusterObject]{kind: "Cluster", resource: "clusters", namespace: "n", limit: 10, bytes: 3 << 20, page: 2}
			_, _, err = list.read(t.Context(), client.requests, func(clusterObject) {})
			large, ok := errors.AsType[*InventoryTooLargeError](err)
			if !ok || large.Limit != test.want || large.Namespace != "n" || large.Kind != "Cluster" {
				t.Errorf("got error %v, want that the limit is %s", err, test.want)
			}
			if got := requests.Load(); got > 11 {
				t.Errorf("requests: got %d, want at most 11", got)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	selector := nothing()
	if _, err := selector.Compile(); err != nil {
		t.Error(err)
	}
	if cmp.Equal(selector, fleetyaml.Selector{}) {
		t.Error("an empty selector selects all clusters")
	}
}
