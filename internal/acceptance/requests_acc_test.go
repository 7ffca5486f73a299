package acceptance_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
)

// If nothing has changed and every object is compared, the number of requests to a cluster does not
// depend on the number of its releases. The requests are one list of release records, one of those
// of the target, and one of each kind and namespace, page by page. Change windows and policies add
// none.
func TestAccRequestsOfAPlanDoNotGrow(t *testing.T) {
	t.Parallel()
	o := newFaultSuite(t, 0)
	of := map[int][]map[string]int{}
	for _, releases := range []int{4, 16} {
		o.bundles = releases
		o.deploy(t, "first")
		o.run(t, "apply", "-auto-approve", "-input=false")
		for _, guards := range []string{"", closed("") + "  policies = { all = { applies_to = { all = true }, labels = { team = \"*\" } } }\n"} {
			o.guards = guards
			o.deploy(t, "first")
			for _, proxy := range o.proxies {
				proxy.Record()
			}
			if output := o.run(t, "plan", "-input=false"); !strings.Contains(output, "No changes") {
				t.Errorf("%d releases: the plan changes something:\n%s", releases, output)
			}
			for _, proxy := range o.proxies {
				of[releases] = append(of[releases], requestsByKind(t, proxy.Recorded()))
			}
		}
		o.guards = ""
	}
	want := map[string]int{
		"get /api": 1, "get /apis": 1, "get /api/v1/namespaces/kube-system": 1,
		"list /api/v1/secrets": 1,
		fmt.Sprintf("list /api/v1/namespaces/%s/secrets", o.namespace):             1,
		fmt.Sprintf("list /api/v1/namespaces/%s/configmaps", o.namespace):          1,
		fmt.Sprintf("list /api/v1/namespaces/%s/services", o.namespace):            1,
		fmt.Sprintf("get /apis/apps/v1/namespaces/%s/deployments/b0", o.namespace): 1, // The only one of its kind.
	}
	for releases, clusters := range of {
		for i, got := range clusters {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d releases, measurement %d (-want +got):\n%s", releases, i, diff)
			}
		}
	}
	o.deploy(t, "first", "a", "b", "c")
	o.run(t, "apply", "-auto-approve", "-input=false")
}

// The number of requests of an apply for single objects does not grow with the objects of a
// release.
func TestAccRequestsOfAnApply(t *testing.T) {
	t.Parallel()
	const objects = 40
	o := newFaultSuite(t, 0)
	var entries []entry
	for i, proxy := range o.proxies {
		entries = append(entries, entry{name: string(rune('a' + i)), host: proxy.Host(), token: o.env0().Cluster(i).Token(), authority: proxy.CACertificate()})
	}
	configure := func(value string) {
		var manifest strings.Builder
		for i := range objects {
			fmt.Fprintf(&manifest, "---\n%s", configMap(fmt.Sprintf("c%02d", i), value))
		}
		o.configure(t, o.clusters(entries), o.bundleOf("many", manifest.String()), target("max_history = 2", "fleet_bundle.many.bundles"))
	}
	maps := fmt.Sprintf("/api/v1/namespaces/%s/configmaps", o.namespace)
	records := fmt.Sprintf("/api/v1/namespaces/%s/secrets", o.namespace)
	for _, step := range []struct {
		name, value string
		args        []string
		// most limits the requests of a kind on one cluster, including those of the plan.
		most map[string]int
	}{
		{name: "install", value: "first", args: []string{"apply", "-auto-approve", "-input=false"}, most: map[string]int{
			"create " + maps: objects, "create " + records: 1, "update " + records: 1, "list " + maps: 5, "list " + records: 1,
		}},
		{name: "upgrade", value: "second", args: []string{"apply", "-auto-approve", "-input=false"}, most: map[string]int{
			"patch " + maps: objects, "create " + records: 1, "update " + records: 2, "list " + maps: 5, "get " + records: 3, "list " + records: 1,
		}},
		{name: "destroy", value: "second", args: []string{"destroy", "-auto-approve", "-input=false"}, most: map[string]int{
			"delete " + maps: objects, "delete " + records: 2, "update " + records: 1, "list " + maps: 5, "get " + records: 3, "list " + records: 1,
		}},
	} {
		configure(step.value)
		for _, proxy := range o.proxies {
			proxy.Record()
		}
		o.run(t, step.args...)
		for i, proxy := range o.proxies {
			got := collections(t, proxy.Recorded())
			for kind, number := range got {
				if limit := step.most[kind]; number > limit && strings.Contains(kind, o.namespace) {
					t.Errorf("%s, cluster %d: %d requests %q, want at most %d", step.name, i, number, kind, limit)
				}
			}
			for kind := range step.most {
				if writes := !strings.HasPrefix(kind, "list") && !strings.HasPrefix(kind, "get"); writes && got[kind] == 0 {
					t.Errorf("%s, cluster %d: no request %q was seen", step.name, i, kind)
				}
			}
		}
	}
}

// requestsByKind counts requests. All pages of a list are one request.
func requestsByKind(t *testing.T, calls []faulttest.Call) map[string]int {
	t.Helper()
	counted := map[string]int{}
	for _, call := range calls {
		address, err := url.ParseRequestURI(call.URL)
		if err != nil {
			t.Fatal(err)
		}
		if address.Query().Get("continue") == "" {
			counted[call.Verb+" "+address.Path]++
		}
	}
	return counted
}

// collections counts requests by the kind of the object that they concern.
func collections(t *testing.T, calls []faulttest.Call) map[string]int {
	t.Helper()
	counted := map[string]int{}
	for kind, number := range requestsByKind(t, calls) {
		verb, path, _ := strings.Cut(kind, " ")
		if parts := strings.Split(path, "/"); verb != "list" && verb != "create" && len(parts) > 2 {
			path = strings.Join(parts[:len(parts)-1], "/")
		}
		counted[verb+" "+path] += number
	}
	return counted
}
