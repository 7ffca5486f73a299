package policyexamples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/rego"
)

const (
	examples = "../../examples/policies"
	all      = "fleet_cluster_target.all"
	logs     = "fleet_cluster_target.logs"
	shop     = "fleet_gitrepo.shop"
	binding  = "ClusterRoleBinding.rbac.authorization.k8s.io/shop"
	friday   = "2026-03-13T09:00:00Z"

	noFriday = "a prod cluster must not change on this day (Friday)"
)

// plan is the JSON of a plan in a test.
type plan struct {
	t       *testing.T
	content map[string]any
}

func recorded(t *testing.T) plan {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	recorded := plan{t: t}
	if err := json.Unmarshal(content, &recorded.content); err != nil {
		t.Fatal(err)
	}
	return recorded
}

// object is an object below another one. The keys of a plan are known, so a missing one ends the test.
func object(t *testing.T, in map[string]any, keys ...string) map[string]any {
	t.Helper()
	for _, key := range keys {
		next, ok := in[key].(map[string]any)
		if !ok {
			t.Fatalf("the plan has no object %s", key)
		}
		in = next
	}
	return in
}

// resource is the entry of a resource in the plan.
func (p plan) resource(address string) map[string]any {
	p.t.Helper()
	changes, _ := p.content["resource_changes"].([]any)
	for _, change := range changes {
		if found, ok := change.(map[string]any); ok && found["address"] == address {
			return found
		}
	}
	p.t.Fatalf("the plan has no change of %s", address)
	return nil
}

// at is an object in the change of a resource.
func (p plan) at(address string, keys ...string) map[string]any {
	p.t.Helper()
	return object(p.t, p.resource(address), append([]string{"change"}, keys...)...)
}

// hide makes an attribute unknown as a whole.
func (p plan) hide(address, attribute string) {
	p.t.Helper()
	delete(p.at(address, "after"), attribute)
	p.at(address, "after_unknown")[attribute] = true
}

// hideElement makes an element of a map unknown.
func (p plan) hideElement(address, attribute, key string) {
	p.t.Helper()
	delete(p.at(address, "after", attribute), key)
	unknown := p.at(address, "after_unknown")
	elements, ok := unknown[attribute].(map[string]any)
	if !ok {
		elements = map[string]any{}
		unknown[attribute] = elements
	}
	elements[key] = true
}

func deny(address, cluster, bundle, reason string) string {
	return address + ", cluster " + cluster + ", bundle " + bundle + ": " + reason
}

func hidden(address, reason string) string { return deny(address, "unknown", "unknown", reason) }

// Each case changes the recorded plan, and lists all denials of the changed one.
func TestRego(t *testing.T) {
	t.Parallel()
	query, err := rego.New(rego.Query("data.fleet.deny"), rego.Load([]string{filepath.Join(examples, "fleet.rego")}, nil), rego.Strict(true)).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := recorded(t)
			if test.change != nil {
				test.change(input)
			}
			results, err := query.Eval(t.Context(), rego.EvalInput(input.content))
			if err != nil {
				t.Fatal(err)
			}
			if len(results) != 1 || len(results[0].Expressions) != 1 {
				t.Fatalf("the query returns %v", results)
			}
			messages, ok := results[0].Expressions[0].Value.([]any)
			if !ok {
				t.Fatalf("deny is a %T", results[0].Expressions[0].Value)
			}
			got := make([]string, 0, len(messages))
			for _, message := range messages {
				text, ok := message.(string)
				if !ok {
					t.Fatalf("a denial is a %T", message)
				}
				got = append(got, text)
			}
			slices.Sort(got)
			want := slices.Clone(test.want)
			slices.Sort(want)
			if diff := cmp.Diff(want, got, cmp.Transformer("empty", func(list []string) []string { return append([]string{}, list...) })); diff != "" {
				t.Errorf("denials (-want +got):\n%s", diff)
			}
		})
	}
}

type regoCase struct {
	change func(p plan)
	want   []string
}

func cases() map[string]regoCase {
	everything := []string{}
	for _, cluster := range []string{"dev-1", "prod-eu-1", "prod-us-1"} {
		for _, bundle := range []string{"ingress", "jobs", "metrics", "web"} {
			everything = append(everything, deny(all, cluster, bundle, "the plan removes 12 of 12 deployments, and 10 % are allowed"))
		}
	}
	ofFriday := []string{deny(all, "prod-eu-1", "web", noFriday), deny(all, "prod-us-1", "web", noFriday), deny(logs, "prod-eu-1", "logs", noFriday)}
	result := map[string]regoCase{
		"the recorded plan": {},
		"1: a Friday": {
			change: func(p plan) { p.content["timestamp"] = friday },
			want:   ofFriday,
		},
		"2: a binding in a tenant's bundle": {
			change: func(p plan) { p.at(all, "after", "objects")["dev-1/web "+binding] = "000000000000" },
			want:   []string{deny(all, "dev-1", "web", "a tenant's repository must not have a "+binding)},
		},
		"3: two of twelve removed": {
			change: func(p plan) { delete(p.at(all, "after", "deployments"), "dev-1/metrics") },
			want: []string{
				deny(all, "dev-1", "jobs", "the plan removes 2 of 12 deployments, and 10 % are allowed"),
				deny(all, "dev-1", "metrics", "the plan removes 2 of 12 deployments, and 10 % are allowed"),
			},
		},
		"4: another namespace": {
			change: func(p plan) {
				p.at(all, "after", "deployments")["dev-1/web"] = "web-1.0.0 kube-system/web 00000000"
			},
			want: []string{deny(all, "dev-1", "web", `the namespace of "web-1.0.0 kube-system/web 00000000" is not allowed`)},
		},
	}
	add := func(name string, c regoCase) { result[name] = c }

	add("1: a Friday without a change of a prod cluster", regoCase{change: func(p plan) {
		p.content["timestamp"] = friday
		p.resource(logs)["type"] = "other"
		for _, key := range []string{"prod-eu-1/web", "prod-us-1/web"} {
			p.at(all, "after", "deployments")[key] = p.at(all, "before", "deployments")[key]
			delete(p.at(all, "after_unknown", "records"), key)
		}
	}})
	add("1: drift is corrected on a Friday", regoCase{
		change: func(p plan) {
			p.content["timestamp"] = friday
			p.at(all, "after_unknown", "records")["prod-eu-1/ingress"] = true
		},
		want: append(slices.Clone(ofFriday), deny(all, "prod-eu-1", "ingress", noFriday)),
	})
	add("1: no timestamp", regoCase{
		change: func(p plan) { delete(p.content, "timestamp") },
		want: []string{
			deny(all, "prod-eu-1", "web", "a prod cluster must not change on this day (day unknown)"),
			deny(all, "prod-us-1", "web", "a prod cluster must not change on this day (day unknown)"),
			deny(logs, "prod-eu-1", "logs", "a prod cluster must not change on this day (day unknown)"),
		},
	})
	add("1: unknown deployments on a Friday", regoCase{
		change: func(p plan) {
			p.content["timestamp"] = friday
			p.hide(logs, "deployments")
		},
		want: []string{
			ofFriday[0], ofFriday[1], hidden(logs, "the deployments are unknown, and prod clusters must not change on this day (Friday)"),
			hidden(logs, "the deployments are unknown, and a tenant's ClusterRoleBinding can be in one of them"),
			hidden(logs, "the deployments are unknown, and so are their namespaces"),
		},
	})
	const objectsUnknown = "the objects of a tenant's deployment are unknown, and a ClusterRoleBinding can be one of them"
	add("2: the objects of a deployment are known after the apply", regoCase{
		change: func(p plan) { p.hideElement(all, "objects", "dev-1/web") },
		want:   []string{deny(all, "dev-1", "web", objectsUnknown)},
	})
	add("2: a count of objects", regoCase{
		change: func(p plan) { p.at(all, "after", "objects")["dev-1/web"] = "14 objects 000000000000" },
		want:   []string{deny(all, "dev-1", "web", objectsUnknown)},
	})
	tenants := []string{}
	for _, key := range [][2]string{{"dev-1", "web"}, {"prod-eu-1", "jobs"}, {"prod-eu-1", "web"}, {"prod-us-1", "jobs"}, {"prod-us-1", "web"}} {
		tenants = append(tenants, deny(all, key[0], key[1], objectsUnknown))
	}
	add("2: all objects are known after the apply", regoCase{change: func(p plan) { p.hide(all, "objects") }, want: tenants})
	add("2: no objects in the plan", regoCase{change: func(p plan) {
		p.at(all, "after")["plan_objects"] = false
		p.at(all, "after")["objects"] = map[string]any{}
	}, want: tenants})
	add("2: the tenant's bundles are unknown", regoCase{
		change: func(p plan) { p.hide(shop, "contents") },
		want: []string{
			hidden(all, "the bundles of the tenant's repository fleet_gitrepo.shop are unknown"),
			hidden(logs, "the bundles of the tenant's repository fleet_gitrepo.shop are unknown"),
		},
	})
	add("2: a data source of a tenant", regoCase{
		change: func(p plan) {
			p.at(logs, "after", "objects")["prod-eu-1/logs "+binding] = "000000000000"
			p.content["prior_state"] = map[string]any{"values": map[string]any{"root_module": map[string]any{"child_modules": []any{map[string]any{"resources": []any{map[string]any{
				"address": "module.m.data.fleet_gitrepo.x", "mode": "data", "type": "fleet_gitrepo",
				"values": map[string]any{"name": "tenant-x", "contents": map[string]any{"logs": "logs-1.0.0 logs 00000000"}},
			}}}}}}}
		},
		want: []string{deny(logs, "prod-eu-1", "logs", "a tenant's repository must not have a "+binding)},
	})
	add("2: the same in a repository that is no tenant's", regoCase{change: func(p plan) {
		p.at(all, "after", "objects")["dev-1/web "+binding] = "000000000000"
		p.at(shop, "after")["name"] = "shop"
	}})
	add("3: the target is destroyed", regoCase{change: func(p plan) {
		change := p.at(all)
		change["actions"], change["after"], change["after_unknown"] = []any{"delete"}, nil, map[string]any{}
	}, want: everything})
	add("3: the target is replaced", regoCase{change: func(p plan) {
		p.at(all)["actions"] = []any{"delete", "create"}
	}, want: everything})
	add("3: unknown deployments", regoCase{change: func(p plan) { p.hide(all, "deployments") }, want: []string{
		hidden(all, "the deployments are unknown, and any number can be removed"),
		hidden(all, "the deployments are unknown, and a tenant's ClusterRoleBinding can be in one of them"),
		hidden(all, "the deployments are unknown, and so are their namespaces"),
	}})
	add("everything of a target is unknown", regoCase{change: func(p plan) {
		change := p.at(logs)
		change["after"], change["after_unknown"] = map[string]any{}, true
	}, want: []string{
		hidden(logs, "the deployments are unknown, and a tenant's ClusterRoleBinding can be in one of them"),
		hidden(logs, "the deployments are unknown, and so are their namespaces"),
	}})
	add("4: an unknown deployment", regoCase{
		change: func(p plan) { p.hideElement(all, "deployments", "dev-1/ingress") },
		want:   []string{deny(all, "dev-1", "ingress", "the namespace is unknown")},
	})
	return result
}
