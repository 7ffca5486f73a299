package acceptance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Commits are good, fail, are reverted, or their apply is killed. After each that is deployed, every
// object on each cluster is as if the commit were the first. FLEET_SOAK is the number of commits, and
// FLEET_SEED repeats a run.
func TestSoakCommits(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("FLEET_SOAK"))
	if err != nil {
		t.Skip("set FLEET_SOAK to a number of commits; make soak does")
	}
	seed, err := strconv.ParseUint(os.Getenv("FLEET_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Fprintf(os.Stderr, "soak: FLEET_SEED=%d\n", seed)
	c := &commitSoak{faultSuite: newFaultSuite(t, 0), chance: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // chance that can be repeated
	c.good = c.commit()
	c.deployCommit(t, c.good, false)
	c.apply(t)
	counts := map[string]int{}
	for step := range times {
		name := c.step(t)
		counts[name]++
		if t.Failed() {
			t.Fatalf("FLEET_SEED=%d fails in step %d, a commit that %s", seed, step, name)
		}
	}
	c.deployCommit(t, c.good, false)
	c.applyAll(t)
	fmt.Fprintf(os.Stderr, "soak: %d commits, %v, %d objects compared\n", times, counts, c.compared)
	c.expectEmptyPlan(t)
	c.run(t, "destroy", "-auto-approve")
	for i := range c.proxies {
		c.expectNothing(t, i)
	}
}

// commitSoak deploys random commits.
type commitSoak struct {
	*faultSuite
	chance *rand.Rand
	// good is the last commit that was deployed. compared counts objects that were compared.
	good     []*unstructured.Unstructured
	compared int
	// requests is the number of requests of the last apply that was not killed.
	requests int
}

// step makes one commit, and returns what it does.
func (c *commitSoak) step(t *testing.T) string {
	t.Helper()
	commit, atomically := c.commit(), c.chance.IntN(3) == 0
	switch c.chance.IntN(10) {
	case 0, 1, 2:
		c.deployCommit(t, append(slices.Clone(commit), objectOf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"bad"},"spec":{"ports":[{"port":99999999}]}}`)), atomically)
		c.fail(t, applying, "99999999")
		if atomically {
			c.expectObjects(t, c.good)
		}
		return "fails"
	case 3, 4:
		c.deployCommit(t, c.good, atomically)
		c.applyAll(t)
		return "is reverted"
	case 5, 6:
		c.deployCommit(t, commit, false)
		c.killedApply(t)
		if c.chance.IntN(2) == 0 {
			return "is killed, and then another one"
		}
		c.good = commit
		c.applyAll(t)
		return "is killed"
	}
	c.good = commit
	c.deployCommit(t, commit, atomically)
	c.applyAll(t)
	return "is good"
}

// applyAll applies the last good commit, and compares it with the clusters.
func (c *commitSoak) applyAll(t *testing.T) {
	t.Helper()
	served := c.served()
	c.apply(t)
	c.requests = c.served() - served
	c.expectObjects(t, c.good)
}

// killedApply kills the provider or Terraform at a random request of an apply.
func (c *commitSoak) killedApply(t *testing.T) {
	t.Helper()
	at := int64(1 + c.chance.IntN(max(c.requests, 30)))
	var asked atomic.Int64
	killed := c.killAt(t, []victim{theProvider, theCLI}[c.chance.IntN(2)], moment{
		answered: c.chance.IntN(2) == 0, is: func(*http.Request) bool { return asked.Add(1) == at },
	})
	if output, err := c.begin(t, applying...); !killed() && err != nil {
		t.Fatalf("the apply failed by itself: %v\n%s", err, output)
	}
	c.state.expire()
}

func (c *commitSoak) served() int {
	served := 0
	for _, proxy := range c.proxies {
		served += proxy.Served()
	}
	return served
}

// deployCommit writes the configuration of a commit.
func (c *commitSoak) deployCommit(t *testing.T, objects []*unstructured.Unstructured, atomically bool) {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "---\n%s", content)
	}
	bundle := strings.Replace(c.bundleOf("app", text.String()), "files =", fmt.Sprintf("helm = { atomic = %t }\n  files =", atomically), 1)
	c.configureBundles(t, []string{bundle}, []string{"fleet_bundle.app.bundles"}, "wait = false\ndeployment_timeout = \"60s\"")
}

// commit returns random objects.
func (c *commitSoak) commit() []*unstructured.Unstructured {
	objects := []*unstructured.Unstructured{objectOf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"ports":[` + c.ports() + `]}}`)}
	for i := range 4 {
		if c.chance.IntN(3) > 0 {
			objects = append(objects, objectOf(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","labels":{%s},"annotations":{%s}},"data":{%s}}`, i, c.texts(), c.texts(), c.texts())))
		}
	}
	if c.chance.IntN(4) > 0 {
		objects = append(objects, objectOf(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{%s}},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"web"}},`+
			`"template":{"metadata":{"labels":{"app":"web","pod":"x"},"annotations":{%s}},"spec":{%s"securityContext":{%s},"tolerations":[%s],"containers":[%s]}}}}`,
			c.texts(), 1+c.chance.IntN(3), c.texts(), c.some(`"hostNetwork":true,`), c.some(`"runAsUser":1000`), c.some(`{"key":"a","operator":"Exists"}`), c.containers())))
	}
	return objects
}

func (c *commitSoak) ports() string {
	ports := []string{`{"name":"http","port":80}`}
	for _, port := range []string{`{"name":"tls","port":443}`, `{"name":"admin","port":8080,"targetPort":90}`} {
		if c.chance.IntN(2) == 0 {
			ports = append(ports, port)
		}
	}
	return strings.Join(ports, ",")
}

func (c *commitSoak) containers() string {
	container := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"image":"registry.k8s.io/pause:3.%d"%s%s%s}`, name, 9+c.chance.IntN(2), c.some(`,"args":["x","y"]`), c.some(`,"env":[{"name":"A","value":"1"}]`), c.some(`,"env":[{"name":"B","value":"2"},{"name":"C","value":"3"}]`))
	}
	containers := []string{container("main")}
	if c.chance.IntN(2) == 0 {
		containers = append(containers, container("sidecar"))
	}
	return strings.Join(containers, ",")
}

// texts returns random fields of a map of texts.
func (c *commitSoak) texts() string {
	var fields []string
	for _, key := range []string{"a", "b", "c"} {
		if c.chance.IntN(2) == 0 {
			fields = append(fields, fmt.Sprintf(`%q:"v%d"`, key, c.chance.IntN(3)))
		}
	}
	return strings.Join(fields, ",")
}

// some returns a text or nothing.
func (c *commitSoak) some(text string) string {
	if c.chance.IntN(2) == 0 {
		return ""
	}
	return text
}

func objectOf(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		panic(err)
	}
	return object
}

// expectObjects compares the objects of the release on each cluster with what an API server makes of
// the objects of a commit.
func (c *commitSoak) expectObjects(t *testing.T, commit []*unstructured.Unstructured) {
	t.Helper()
	for i := range c.proxies {
		client, err := dynamic.NewForConfig(c.env0().Cluster(i).RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]any{}, map[string]any{}
		for kind, resource := range map[string]schema.GroupVersionResource{
			"Service": {Version: "v1", Resource: "services"}, "ConfigMap": {Version: "v1", Resource: "configmaps"},
			"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
		} {
			objects := client.Resource(resource).Namespace(c.namespace)
			live, err := objects.List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range live.Items {
				got[kind+"/"+object.GetName()] = commonContent(&object)
			}
			for _, object := range commit {
				if object.GetKind() != kind {
					continue
				}
				fresh := object.DeepCopy()
				fresh.SetName("fresh-" + object.GetName())
				made, err := objects.Create(t.Context(), fresh, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if err != nil {
					t.Fatal(err)
				}
				want[kind+"/"+object.GetName()] = commonContent(made)
			}
		}
		c.compared += len(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("objects on cluster %d (-want +got):\n%s", i, diff)
		}
	}
}

// commonContent returns what an object and a new one with the same content have in common.
func commonContent(object *unstructured.Unstructured) map[string]any {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	for _, key := range []string{"app.kubernetes.io/managed-by", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace", "deployment.kubernetes.io/revision"} {
		delete(labels, key)
		delete(annotations, key)
	}
	content := object.DeepCopy().Object
	delete(content, "metadata")
	delete(content, "status")
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		unstructured.RemoveNestedField(content, "spec", field)
	}
	content["labels"], content["annotations"] = fmt.Sprint(labels), fmt.Sprint(annotations)
	return content
}
