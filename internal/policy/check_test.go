package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// documents returns the objects of a text as a plan has them.
func documents(t *testing.T, text string) []diff.Document {
	t.Helper()
	objects, err := manifest.ParseAll([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	made, err := manifest.Documents(objects, nil, "web")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// documentsOf returns one object with this content.
func documentsOf(content string) []diff.Document {
	return []diff.Document{{Object: diff.Object{Kind: "Pod", Namespace: "web", Name: "x"}, Content: content}}
}

// found returns rules and texts.
func found(violations []policy.Violation) []string {
	var texts []string
	for _, v := range violations {
		text := v.Rule + ": "
		if v.Object != "" {
			text += v.Object + ": "
		}
		texts = append(texts, text+v.Text)
	}
	return texts
}

const (
	configMap   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	binding     = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: admins}\n"
	cronJob     = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: night}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{image: IMAGE}]}}}}}\n"
	podTemplate = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{image: ghcr.io/acme/web}], KEY: [{image: IMAGE}]}}}\n"
)

func TestCheckObjects(t *testing.T) {
	t.Parallel()

	acme := policy.Policy{ImageRegistries: []string{"ghcr.io/acme/**", "registry.example.com:5000"}}
	image := func(template, image string) string { return strings.ReplaceAll(template, "IMAGE", image) }
	tests := map[string]struct {
		policy  policy.Policy
		objects string
		want    []string
	}{
		"a kind that is not denied": {policy: policy.Policy{DeniedKinds: []string{"ClusterRole*"}}, objects: configMap},
		"a denied kind": {
			policy: policy.Policy{DeniedKinds: []string{"ClusterRole*"}}, objects: configMap + "---\n" + binding,
			want: []string{"denied_kinds: ClusterRoleBinding.rbac.authorization.k8s.io/admins: the kind is denied"},
		},
		"a denied kind with its group": {
			policy: policy.Policy{DeniedKinds: []string{"*.rbac.authorization.k8s.io"}}, objects: configMap + "---\n" + binding,
			want: []string{"denied_kinds: ClusterRoleBinding.rbac.authorization.k8s.io/admins: the kind is denied"},
		},
		"a denied kind in a List": {
			policy:  policy.Policy{DeniedKinds: []string{"ClusterRoleBinding"}},
			objects: "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}}]}]\n",
			want:    []string{"denied_kinds: ClusterRoleBinding.rbac.authorization.k8s.io/x: the kind is denied"},
		},
		"a denied kind in a list of that kind": {
			policy:  policy.Policy{DeniedKinds: []string{"ClusterRoleBinding"}},
			objects: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBindingList\nitems: [{metadata: {name: x}}]\n",
			want:    []string{"denied_kinds: ClusterRoleBinding.rbac.authorization.k8s.io/x: the kind is denied"},
		},
		"an allowed kind": {policy: policy.Policy{AllowedKinds: []string{"ConfigMap", "Deployment.apps"}}, objects: configMap + "---\n" + image(podTemplate, "x")},
		"a kind that is not allowed": {
			policy: policy.Policy{AllowedKinds: []string{"ConfigMap"}}, objects: binding,
			want: []string{"allowed_kinds: ClusterRoleBinding.rbac.authorization.k8s.io/admins: the kind is not allowed (allowed: ConfigMap)"},
		},
		"a kind of the same name in another group": {
			policy: policy.Policy{AllowedKinds: []string{"Deployment.apps"}}, objects: "apiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: x}\n",
			want: []string{"allowed_kinds: Deployment.example.com/web/x: the kind is not allowed (allowed: Deployment.apps)"},
		},
		"no kind is allowed": {
			policy: policy.Policy{AllowedKinds: []string{}}, objects: configMap,
			want: []string{"allowed_kinds: ConfigMap/web/one: the kind is not allowed (nothing is allowed)"},
		},
		"objects with a namespace":            {policy: policy.Policy{ClusterScoped: new(false)}, objects: configMap},
		"cluster-scoped objects may be there": {policy: policy.Policy{ClusterScoped: new(true)}, objects: binding},
		"a cluster-scoped object": {
			policy: policy.Policy{ClusterScoped: new(false)}, objects: binding,
			want: []string{"cluster_scoped: ClusterRoleBinding.rbac.authorization.k8s.io/admins: objects without a namespace are not allowed"},
		},
		"a cluster-scoped object that claims a namespace": {
			policy: policy.Policy{ClusterScoped: new(false)}, objects: strings.Replace(binding, "{name", "{namespace: web, name", 1),
			want: []string{"cluster_scoped: ClusterRoleBinding.rbac.authorization.k8s.io/admins: objects without a namespace are not allowed"},
		},
		"an object of a kind that the same bundle defines without a namespace": {
			policy: policy.Policy{ClusterScoped: new(false)},
			objects: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rules.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: Rule}}\n---\n" +
				"apiVersion: example.com/v1\nkind: Rule\nmetadata: {name: x}\n",
			want: []string{
				"cluster_scoped: CustomResourceDefinition.apiextensions.k8s.io/rules.example.com: objects without a namespace are not allowed",
				"cluster_scoped: Rule.example.com/web/x: objects without a namespace are not allowed",
			},
		},
		"an object without a namespace is in that of its release": {policy: policy.Policy{Namespaces: []string{"web"}}, objects: configMap},
		"an object in another namespace": {
			policy: policy.Policy{Namespaces: []string{"web", "web-*"}}, objects: strings.Replace(configMap, "{name", "{namespace: kube-system, name", 1),
			want: []string{"namespaces: ConfigMap/kube-system/one: the namespace kube-system is not allowed (allowed: web, web-*)"},
		},
		"a namespace in capitals": {
			policy: policy.Policy{Namespaces: []string{"web", "kube-system"}}, objects: strings.Replace(configMap, "{name", "{namespace: Kube-System, name", 1),
			want: []string{"namespaces: ConfigMap/Kube-System/one: the namespace Kube-System is not allowed (allowed: web, kube-system)"},
		},
		"a Namespace itself": {
			policy: policy.Policy{Namespaces: []string{"web"}}, objects: "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n",
			want: []string{"namespaces: Namespace/other: the namespace other is not allowed (allowed: web)"},
		},
		"a name that the API server completes": {
			policy: policy.Policy{DeniedKinds: []string{"ConfigMap"}}, objects: "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: one-}\n",
			want: []string{"denied_kinds: ConfigMap/web/one-*: the kind is denied"},
		},
		"an allowed image":                   {policy: acme, objects: image(podTemplate, "ghcr.io/acme/team/web:1@sha256:"+strings.Repeat("0", 64))},
		"an allowed image in capitals":       {policy: acme, objects: image(cronJob, "GHCR.IO/acme/web")},
		"an allowed image by its digest":     {policy: acme, objects: image(cronJob, "ghcr.io/acme/web@sha256:"+strings.Repeat("0", 64))},
		"an image of a registry with a port": {policy: acme, objects: image(cronJob, "registry.example.com:5000/any/thing:1")},
		"an image without a registry": {
			policy: acme, objects: image(cronJob, "nginx"),
			want: []string{"image_registries: CronJob.batch/web/night: the image nginx of docker.io/library/nginx is not allowed (allowed: ghcr.io/acme/**, registry.example.com:5000)"},
		},
		"an image that looks like the allowed registry": {
			policy: acme, objects: image(cronJob, "ghcrxio/acme/web"),
			want: []string{"image_registries: CronJob.batch/web/night: the image ghcrxio/acme/web of docker.io/ghcrxio/acme/web is not allowed (allowed: ghcr.io/acme/**, registry.example.com:5000)"},
		},
		"an image of the same organization at another registry": {
			policy: acme, objects: image(cronJob, "ghcr.io.example.com/acme/web"),
			want: []string{"image_registries: CronJob.batch/web/night: the image ghcr.io.example.com/acme/web of ghcr.io.example.com/acme/web is not allowed (allowed: ghcr.io/acme/**, registry.example.com:5000)"},
		},
		"no image reference": {
			policy: acme, objects: image(cronJob, "ghcr.io/Acme/Web"),
			want: []string{`image_registries: CronJob.batch/web/night: "ghcr.io/Acme/Web" is not an image reference`},
		},
		"an image of Docker Hub by its other name": {policy: policy.Policy{ImageRegistries: []string{"docker.io/library/*"}}, objects: image(cronJob, "index.docker.io/library/nginx")},
		"an init container": {
			policy: policy.Policy{ImageRegistries: []string{"ghcr.io"}}, objects: image(strings.Replace(podTemplate, "KEY", "initContainers", 1), "quay.io/x/y"),
			want: []string{"image_registries: Deployment.apps/web/web: the image quay.io/x/y of quay.io/x/y is not allowed (allowed: ghcr.io)"},
		},
		"an ephemeral container": {
			policy: policy.Policy{ImageRegistries: []string{"ghcr.io"}}, objects: image(strings.Replace(podTemplate, "KEY", "ephemeralContainers", 1), "quay.io/x/y"),
			want: []string{"image_registries: Deployment.apps/web/web: the image quay.io/x/y of quay.io/x/y is not allowed (allowed: ghcr.io)"},
		},
		"a volume of an image": {
			policy:  policy.Policy{ImageRegistries: []string{"ghcr.io"}},
			objects: "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {volumes: [{image: {reference: quay.io/x/y}}]}\n",
			want:    []string{"image_registries: Pod/web/x: the image quay.io/x/y of quay.io/x/y is not allowed (allowed: ghcr.io)"},
		},
		"a pod template of a custom resource": {
			policy:  policy.Policy{ImageRegistries: []string{"ghcr.io"}},
			objects: "apiVersion: example.com/v1\nkind: Fleet\nmetadata: {name: x}\nspec: {parts: [{pod: {spec: {containers: [{image: quay.io/x/y}]}}}]}\n",
			want:    []string{"image_registries: Fleet.example.com/web/x: the image quay.io/x/y of quay.io/x/y is not allowed (allowed: ghcr.io)"},
		},
		"required labels": {
			policy:  policy.Policy{Labels: map[string]string{"team": "**", "tier": "gold-*"}},
			objects: strings.Replace(configMap, "{name", "{labels: {team: a, tier: gold-1}, name", 1),
		},
		"labels that are missing or different": {
			policy:  policy.Policy{Labels: map[string]string{"team": "**", "tier": "gold-*"}},
			objects: strings.Replace(configMap, "{name", "{labels: {tier: silver}, name", 1),
			want:    []string{"labels: ConfigMap/web/one: the label team is missing", "labels: ConfigMap/web/one: the label tier does not match gold-*"},
		},
		"a required annotation": {
			policy: policy.Policy{Annotations: map[string]string{"example.com/owner": "?*"}}, objects: strings.Replace(configMap, "{name", "{annotations: {example.com/owner: \"\"}, name", 1),
			want: []string{"annotations: ConfigMap/web/one: the annotation example.com/owner does not match ?*"},
		},
		"as many objects as may be": {policy: policy.Policy{MaxObjects: new(int64(1))}, objects: configMap},
		"too many objects": {
			policy: policy.Policy{MaxObjects: new(int64(1))}, objects: configMap + "---\n" + binding,
			want: []string{"max_objects: it has 2 objects, and at most 1 are allowed"},
		},
		"as many replicas as may be": {policy: policy.Policy{MaxReplicas: new(int64(3))}, objects: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 3}\n"},
		"too many replicas": {
			policy: policy.Policy{MaxReplicas: new(int64(3))}, objects: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 4}\n",
			want: []string{"max_replicas: Deployment.apps/web/x: 4 replicas are more than 3"},
		},
		"too many replicas of an autoscaler": {
			policy: policy.Policy{MaxReplicas: new(int64(3))}, objects: "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: x}\nspec: {maxReplicas: 100}\n",
			want: []string{"max_replicas: HorizontalPodAutoscaler.autoscaling/web/x: 100 replicas are more than 3"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tt.policy.Name = "p"
			set, err := policy.New([]policy.Policy{tt.policy}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			deployment := policy.Deployment{Cluster: "a", Bundle: "web", Namespace: "web"}
			got := set.Check(deployment, policy.Content{Documents: documents(t, tt.objects)})
			if difference := cmp.Diff(tt.want, found(got)); difference != "" {
				t.Error(difference)
			}
		})
	}
}

// Only the identity is known of an object that varies.
func TestCheckVarying(t *testing.T) {
	t.Parallel()

	set, err := policy.New([]policy.Policy{{Name: "p", DeniedKinds: []string{"ConfigMap"}, Labels: map[string]string{"team": "**"}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := set.Check(policy.Deployment{}, policy.Content{Documents: documents(t, configMap), Varying: map[string]bool{"ConfigMap/web/one": true}})
	if difference := cmp.Diff([]string{"denied_kinds: ConfigMap/web/one: the kind is denied"}, found(got)); difference != "" {
		t.Error(difference)
	}
}

func TestCheckDeployment(t *testing.T) {
	t.Parallel()

	chart := func(address, version string) []policy.ChartSource {
		return []policy.ChartSource{{Address: address, Version: version}}
	}
	allowed := []policy.Chart{{Source: "https://charts.example.com/*", Version: "~1.2"}, {Source: "oci://ghcr.io/acme/**"}}
	accounts := &policy.ServiceAccounts{Allowed: []string{"deployer-*"}, Required: true}
	tests := map[string]struct {
		policy     policy.Policy
		deployment policy.Deployment
		want       []string
	}{
		"an allowed repository": {policy: policy.Policy{Repositories: []string{"https://git.example.com/acme/**"}}, deployment: policy.Deployment{Repository: "https://git.example.com/acme/team/apps"}},
		"no repository":         {policy: policy.Policy{Repositories: []string{}}},
		"another repository": {
			policy: policy.Policy{Repositories: []string{"https://git.example.com/acme/*"}}, deployment: policy.Deployment{Repository: "https://git.example.com/acme/team/apps"},
			want: []string{"repositories: the repository https://git.example.com/acme/team/apps is not allowed (allowed: https://git.example.com/acme/*)"},
		},
		"an allowed chart":               {policy: policy.Policy{Charts: allowed}, deployment: policy.Deployment{Charts: chart("https://charts.example.com/web", "1.2.7")}},
		"an allowed chart of a registry": {policy: policy.Policy{Charts: allowed}, deployment: policy.Deployment{Charts: chart("oci://ghcr.io/acme/team/web", "9.0.0")}},
		"another version": {
			policy: policy.Policy{Charts: allowed}, deployment: policy.Deployment{Charts: chart("https://charts.example.com/web", "1.3.0")},
			want: []string{"charts: the chart https://charts.example.com/web 1.3.0 is not allowed (allowed: https://charts.example.com/* ~1.2, oci://ghcr.io/acme/**)"},
		},
		"a dependency, whose version is not known": {
			policy: policy.Policy{Charts: allowed}, deployment: policy.Deployment{Charts: []policy.ChartSource{{Address: "https://charts.example.com/redis", IsDependency: true}}},
		},
		"a chart from elsewhere": {
			policy: policy.Policy{Charts: []policy.Chart{}}, deployment: policy.Deployment{Charts: chart("oci://quay.io/x/y", "1.0.0")},
			want: []string{"charts: the chart oci://quay.io/x/y 1.0.0 is not allowed (nothing is allowed)"},
		},
		"an allowed namespace": {policy: policy.Policy{Namespaces: []string{"team-*"}}, deployment: policy.Deployment{Namespace: "team-a"}},
		"another namespace": {
			policy: policy.Policy{Namespaces: []string{"team-*"}}, deployment: policy.Deployment{Namespace: "kube-system"},
			want: []string{"namespaces: the namespace kube-system of the release is not allowed (allowed: team-*)"},
		},
		"an allowed account": {policy: policy.Policy{Accounts: accounts}, deployment: policy.Deployment{ServiceAccount: "deployer-a"}},
		"no account": {
			policy: policy.Policy{Accounts: accounts}, want: []string{"service_accounts: the deployment has no service account, and one is required"},
		},
		"another account": {
			policy: policy.Policy{Accounts: accounts}, deployment: policy.Deployment{ServiceAccount: "admin"},
			want: []string{"service_accounts: the service account admin is not allowed (allowed: deployer-*)"},
		},
		"no account where none is required": {policy: policy.Policy{Accounts: &policy.ServiceAccounts{Allowed: []string{}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tt.policy.Name = "p"
			set, err := policy.New([]policy.Policy{tt.policy}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(tt.want, found(set.Check(tt.deployment, policy.Content{}))); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestScope(t *testing.T) {
	t.Parallel()

	clusters := []target.Cluster{{Name: "a", Labels: map[string]string{"env": "prod"}}, {Name: "b"}}
	prod := []target.Rule{{ClusterSelector: &fleetyaml.Selector{MatchLabels: map[string]string{"env": "prod"}}}}
	labelled := &fleetyaml.Selector{MatchLabels: map[string]string{"team": "x"}}
	tests := map[string]struct {
		scope      policy.Scope
		deployment policy.Deployment
		want       bool
	}{
		"everything":                  {want: true},
		"a cluster":                   {scope: policy.Scope{Clusters: prod}, deployment: policy.Deployment{Cluster: "a"}, want: true},
		"another cluster":             {scope: policy.Scope{Clusters: prod}, deployment: policy.Deployment{Cluster: "b"}},
		"a bundle":                    {scope: policy.Scope{Bundles: []string{"apps-*"}}, deployment: policy.Deployment{Bundle: "apps-web"}, want: true},
		"another bundle":              {scope: policy.Scope{Bundles: []string{"apps-*"}}, deployment: policy.Deployment{Bundle: "my-apps-web"}},
		"labels of a bundle":          {scope: policy.Scope{BundleSelector: labelled}, deployment: policy.Deployment{Labels: map[string]string{"team": "x"}}, want: true},
		"other labels":                {scope: policy.Scope{BundleSelector: labelled}},
		"a repository":                {scope: policy.Scope{Repositories: []string{"https://git.example.com/**"}}, deployment: policy.Deployment{Repository: "https://git.example.com/a/b"}, want: true},
		"another repository":          {scope: policy.Scope{Repositories: []string{"https://git.example.com/**"}}, deployment: policy.Deployment{Repository: "https://git.example.org/a/b"}},
		"a bundle from no repository": {scope: policy.Scope{Repositories: []string{"**"}}},
		"all parts have to match":     {scope: policy.Scope{Clusters: prod, Bundles: []string{"x"}}, deployment: policy.Deployment{Cluster: "a", Bundle: "y"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			set, err := policy.New([]policy.Policy{{Name: "p", Scope: tt.scope, Accounts: &policy.ServiceAccounts{Required: true}}}, clusters, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(set.Check(tt.deployment, policy.Content{})) > 0; got != tt.want {
				t.Errorf("the policy applies: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()

	kinds := []string{"Secret"}
	tests := map[string]struct {
		policy policy.Policy
		want   string
	}{
		"no rules":                    {want: "policy p: it has no rules"},
		"an empty pattern":            {policy: policy.Policy{DeniedKinds: []string{""}}, want: "policy p: denied_kinds: a pattern is empty"},
		"a long pattern":              {policy: policy.Policy{DeniedKinds: []string{strings.Repeat("x", 1001)}}, want: "policy p: denied_kinds: a pattern is longer than 1000 bytes"},
		"a constraint":                {policy: policy.Policy{Charts: []policy.Chart{{Source: "*", Version: "x y"}}}, want: "policy p: charts: version \"x y\": improper constraint: \"x y\""},
		"no cluster selected":         {policy: policy.Policy{DeniedKinds: kinds, Scope: policy.Scope{Clusters: []target.Rule{}}}, want: "policy p: applies_to.clusters: the list is empty, so the policy would apply to nothing"},
		"criteria that match nothing": {policy: policy.Policy{DeniedKinds: kinds, Scope: policy.Scope{Clusters: []target.Rule{{}}}}, want: "policy p: applies_to.clusters: an element without criteria matches no cluster"},
		"a cluster that does not exist": {
			policy: policy.Policy{DeniedKinds: kinds, Scope: policy.Scope{Clusters: []target.Rule{{ClusterName: "x"}}}},
			want:   `policy p: applies_to.clusters: rule 1: no cluster is called "x"; there are no clusters`,
		},
		"no bundle selected":     {policy: policy.Policy{DeniedKinds: kinds, Scope: policy.Scope{Bundles: []string{}}}, want: "policy p: applies_to.bundles: the list is empty, so the policy would apply to nothing"},
		"no repository selected": {policy: policy.Policy{DeniedKinds: kinds, Scope: policy.Scope{Repositories: []string{}}}, want: "policy p: applies_to.repositories: the list is empty, so the policy would apply to nothing"},
		"a default that is not allowed": {
			policy: policy.Policy{Accounts: &policy.ServiceAccounts{Allowed: []string{"a"}, Default: "b"}}, want: `policy p: service_accounts.default: "b" is not in allowed`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tt.policy.Name = "p"
			_, err := policy.New([]policy.Policy{tt.policy}, nil, nil)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// The first default wins, in the order of the names of policies.
func TestDefaultServiceAccount(t *testing.T) {
	t.Parallel()

	set, err := policy.New([]policy.Policy{
		{Name: "z", Accounts: &policy.ServiceAccounts{Default: "last"}},
		{Name: "a", Scope: policy.Scope{Bundles: []string{"apps"}}, Accounts: &policy.ServiceAccounts{Default: "first"}},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for bundle, want := range map[string]string{"apps": "first", "other": "last"} {
		if got := set.ServiceAccount(policy.Deployment{Bundle: bundle}); got != want {
			t.Errorf("%s: got %q, want %q", bundle, got, want)
		}
	}
}
