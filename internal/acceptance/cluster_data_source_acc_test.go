package acceptance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A data source returns what a cluster serves. For a cluster that is down, it reports that the
// cluster cannot be read.
func TestAccClusterDataSource(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	configure := func(extra, name string) {
		t.Helper()
		w.configure(t, fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    a = { config_path = %q, config_context = %q }\n    %s\n  }\n}\n", s.namespace, s.env.Kubeconfig(), s.env.Contexts()[0], extra),
			fmt.Sprintf("data \"fleet_cluster\" \"one\" { name = %q }\noutput \"one\" { value = data.fleet_cluster.one }\n", name))
	}
	type found struct {
		Reachable   bool
		Reason, UID string
		KubeVersion string   `json:"kube_version"`
		APIVersions []string `json:"api_versions"`
	}
	read := func() found {
		t.Helper()
		w.apply(t)
		var got found
		if err := json.Unmarshal([]byte(w.run(t, "output", "-json", "one")), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	namespace, err := s.client(t, 0).CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	configure("", "a")
	up := read()
	if !up.Reachable || up.Reason != "" || up.UID != string(namespace.UID) || !strings.HasPrefix(up.KubeVersion, "v1.") || !slices.Contains(up.APIVersions, "apps/v1/Deployment") || !slices.IsSorted(up.APIVersions) {
		t.Errorf("the cluster is %+v", up)
	}
	configure("down = { host = \"https://127.0.0.1:1\", token = \"x\" }", "down")
	down := read()
	if down.Reachable || !strings.Contains(down.Reason, "connection refused") || down.UID != "" || down.KubeVersion != "" || down.APIVersions != nil {
		t.Errorf("the cluster that is down is %+v", down)
	}
	configure("", "other")
	w.fail(t, []string{"plan"}, "Cannot read cluster other", "a")
}
