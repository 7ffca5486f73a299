package acceptance_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Folders of Rancher's fleet-examples, served by a git server, are deployed to
// three clusters, planned again, and removed with nothing left.
func TestAccCorpusOnClusters(t *testing.T) {
	t.Parallel()
	corpus, set := os.LookupEnv("FLEET_CONFORMANCE")
	if !set {
		t.Skip("FLEET_CONFORMANCE does not name the corpus of Fleet's recorded behaviour")
	}
	testenv.Require(t)
	git := gittest.New(t, gittest.Options{})
	if _, err := git.CommitFS(t.Context(), "examples", "main", "Examples", examples(t, corpus)); err != nil {
		t.Fatal(err)
	}
	// The examples contain namespaces, so their targets share nothing.
	tests := map[string]struct {
		namespace string
		release   string
	}{
		"simple":                   {namespace: "default", release: "examples-simple"},
		"single-cluster/helm":      {namespace: "fleet-helm-example", release: "guestbook"},
		"single-cluster/manifests": {namespace: "fleet-manifest-example", release: "examples-single-cluster-manifests"},
		"multi-cluster/helm":       {namespace: "fleet-mc-helm-example", release: "examples-multi-cluster-helm"},
		"multi-cluster/manifests":  {namespace: "fleet-mc-manifest-example", release: "examples-multi-cluster-manifests"},
	}
	for path, test := range tests {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			s := newFixture(t, testenv.Shared(t))
			s.namespace = test.namespace
			repo := fmt.Sprintf("resource \"fleet_gitrepo\" \"one\" {\n  name = \"examples\"\n  repo = %q\n  branch = \"main\"\n  paths = [%q]\n}\n", git.URL("examples"), path)
			// A Service of type LoadBalancer is never ready without a cloud.
			wait := "wait = false"
			w.configure(t, s.provider("", on+`, env = "dev"`, on+`, env = "test"`, on+`, env = "prod"`), repo, target(wait, "fleet_gitrepo.one.bundles"))
			w.apply(t)
			for i := range 3 {
				if got := s.releases(t, i)[test.release]; got.status != "deployed" {
					t.Errorf("cluster %d: release %s is %q", i, test.release, got.status)
				}
				s.expectGuestbook(t, i, path)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			for i := range 3 {
				s.expectNothing(t, i)
			}
		})
	}
}

// examples are the inputs of the corpus; none at all is a failure.
func examples(t *testing.T, corpus string) fs.FS {
	t.Helper()
	root := os.DirFS(filepath.Join(corpus, "inputs", "fleet-examples"))
	entries, err := fs.ReadDir(root, ".")
	if err != nil || len(entries) == 0 {
		t.Fatalf("FLEET_CONFORMANCE=%q holds no inputs: %v", corpus, err)
	}
	return root
}

// expectGuestbook checks what the examples change from cluster to cluster:
// a (dev) runs without replication, b (test) with more frontends, c (prod) with
// a load balancer too.
func (s *fixture) expectGuestbook(t *testing.T, i int, path string) {
	t.Helper()
	client := s.client(t, i)
	frontend, err := client.AppsV1().Deployments(s.namespace).Get(t.Context(), "frontend", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(path, "multi-cluster/") {
		return
	}
	service, err := client.CoreV1().Services(s.namespace).Get(t.Context(), "frontend", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	replicas, kind := *frontend.Spec.Replicas, string(service.Spec.Type)
	if i > 0 && replicas != 3 {
		t.Errorf("cluster %d has %d frontends, want 3", i, replicas)
	}
	if (i == 2) != (kind == "LoadBalancer") {
		t.Errorf("cluster %d has a service of type %s", i, kind)
	}
}
