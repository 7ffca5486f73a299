package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
)

func fleetObject(kind, name, fields string) string {
	return "apiVersion: fleet.cattle.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: fleet-default, labels: {a: b}}\n" + fields
}

func TestFromFleet(t *testing.T) {
	t.Parallel()

	const newNamespace = "allowNamespaceCreation: the deployment may not create its namespace; set createNamespace to false, or allowNamespaceCreation of a Policy to true"
	withAccount := policy.Deployment{Repository: "x", ServiceAccount: "x", CreateNamespace: true}
	of := func(url string) policy.Deployment { return policy.Deployment{Repository: url, CreateNamespace: true} }
	chart := policy.Deployment{Charts: []policy.ChartSource{{Repo: "https://charts.example.com", Name: "web"}}}
	restriction := func(fields string) []string { return []string{fleetObject("GitRepoRestriction", "r", fields)} }
	one := func(fields string) []string { return []string{fleetObject("Policy", "p", fields)} }
	tests := map[string]struct {
		objects    []string
		deployment policy.Deployment
		want       []string
	}{
		"nothing restricted":                             {objects: one(""), deployment: of("https://git/x")},
		"a required account":                             {objects: one("requireServiceAccount: true\nallowNamespaceCreation: true\n"), deployment: of("https://git/x"), want: []string{"service_accounts: the deployment has no service account, and one is required"}},
		"a required account of a bundle":                 {objects: one("requireServiceAccount: true\n"), want: []string{"service_accounts: the deployment has no service account, and one is required"}},
		"an empty list allows all":                       {objects: one("allowedServiceAccounts: []\n"), deployment: policy.Deployment{ServiceAccount: "x"}},
		"an allowed account":                             {objects: one("allowedServiceAccounts: [x]\n"), deployment: policy.Deployment{ServiceAccount: "x"}},
		"another account":                                {objects: one("allowedServiceAccounts: [x]\n"), deployment: policy.Deployment{ServiceAccount: "y"}, want: []string{"service_accounts: the service account y is not allowed (allowed: x)"}},
		"what one object allows is allowed":              {objects: append(one("allowedServiceAccounts: [x]\n"), restriction("allowedServiceAccounts: [y]\n")...), deployment: policy.Deployment{Repository: "x", ServiceAccount: "y"}},
		"accounts of a restriction are for repositories": {objects: append(one("allowedServiceAccounts: [x]\n"), restriction("allowedServiceAccounts: [y]\n")...), deployment: policy.Deployment{ServiceAccount: "y"}, want: []string{"service_accounts: the service account y is not allowed (allowed: x)"}},
		"a pattern of a policy is anchored":              {objects: one("gitRepo: {allowedRepoPatterns: ['https://git/x']}\n"), deployment: of("https://git/xy"), want: []string{"allowedRepoPatterns: the repository https://git/xy is not allowed (allowed: https://git/x)"}},
		"a pattern of a policy that matches":             {objects: one("gitRepo: {allowedRepoPatterns: ['https://git/.*|other']}\n"), deployment: of("https://git/xy")},
		"an alternative is anchored as well":             {objects: one("gitRepo: {allowedRepoPatterns: ['https://git/.*|other']}\n"), deployment: of("another"), want: []string{"allowedRepoPatterns: the repository another is not allowed (allowed: https://git/.*|other)"}},
		"a pattern of a restriction is not":              {objects: restriction("allowedRepoPatterns: ['git/x']\n"), deployment: of("https://git/xy")},
		"a pattern of a restriction with anchors":        {objects: restriction("allowedRepoPatterns: ['^git/x$']\n"), deployment: of("https://git/x"), want: []string{"allowedRepoPatterns: the repository https://git/x is not allowed (allowed: ^git/x$)"}},
		"a URL as it is":                                 {objects: one("gitRepo: {allowedRepoPatterns: ['https://git/x?a=b']}\n"), deployment: of("https://git/x?a=b")},
		"repositories of charts":                         {objects: one("helmOp: {allowedHelmRepoPatterns: ['https://other.*'], allowedChartPatterns: [web]}\n"), deployment: chart, want: []string{"allowedHelmRepoPatterns: the repository of charts https://charts.example.com is not allowed (allowed: https://other.*)"}},
		"names of charts":                                {objects: one("helmOp: {allowedChartPatterns: [other]}\n"), deployment: chart, want: []string{"allowedChartPatterns: the chart web is not allowed (allowed: other)"}},
		"an allowed target namespace":                    {objects: restriction("allowedTargetNamespaces: [a]\n"), deployment: policy.Deployment{Repository: "x", Namespace: "a", IsConfined: true}},
		"another target namespace":                       {objects: restriction("allowedTargetNamespaces: [a]\n"), deployment: policy.Deployment{Repository: "x", Namespace: "b", IsConfined: true}, want: []string{"allowedTargetNamespaces: target_namespace has to be one of a"}},
		"a namespace that is not forced":                 {objects: restriction("allowedTargetNamespaces: [a]\n"), deployment: policy.Deployment{Repository: "x", Namespace: "a"}, want: []string{"allowedTargetNamespaces: target_namespace has to be one of a"}},
		"a new namespace with a required account":        {objects: one("requireServiceAccount: true\n"), deployment: withAccount, want: []string{newNamespace}},
		"a new namespace that is not allowed":            {objects: one("requireServiceAccount: true\nallowNamespaceCreation: false\n"), deployment: withAccount, want: []string{newNamespace}},
		"a new namespace without a required account":     {objects: one("allowNamespaceCreation: false\n"), deployment: withAccount},
		"a new namespace that another policy allows":     {objects: append(one("requireServiceAccount: true\n"), fleetObject("Policy", "q", "allowNamespaceCreation: true\n")), deployment: withAccount},
		"a namespace that is there already":              {objects: one("requireServiceAccount: true\n"), deployment: policy.Deployment{Repository: "x", ServiceAccount: "x"}},
		"several documents":                              {objects: []string{one("")[0] + "---\n" + fleetObject("Policy", "q", "requireServiceAccount: true\n")}, want: []string{"service_accounts: the deployment has no service account, and one is required"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			policies, unused, err := policy.FromFleet(tt.objects)
			if err != nil || unused != nil {
				t.Fatal(unused, err)
			}
			set, err := policy.New(policies, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(tt.want, found(set.Check(tt.deployment, policy.Content{}))); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestFleetDefaults(t *testing.T) {
	t.Parallel()

	policies, unused, err := policy.FromFleet([]string{
		fleetObject("Policy", "b", "allowedServiceAccounts: [x]\ngitRepo: {defaultServiceAccount: of-policy, defaultClientSecretName: s}\nhelmOp: {defaultServiceAccount: of-helmop}\n"),
		fleetObject("GitRepoRestriction", "c", "defaultServiceAccount: of-restriction\n"),
		fleetObject("Policy", "d", "allowedDownstreamResources: [{kind: Secret, name: a}]\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff([]string{"Policy b: gitRepo.defaultClientSecretName", "Policy d: allowedDownstreamResources"}, unused); difference != "" {
		t.Error(difference)
	}
	set, err := policy.New(policies, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	chart := []policy.ChartSource{{Name: "web"}}
	for want, d := range map[string]policy.Deployment{"of-restriction": {Repository: "x"}, "of-helmop": {Charts: chart}, "": {}} {
		if got := set.ServiceAccount(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		d.ServiceAccount = want
		if wrong := set.Check(d, policy.Content{}); len(wrong) > 0 {
			t.Errorf("the default is refused: %v", found(wrong))
		}
	}
}

func TestInvalidFleetObjects(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		objects []string
		want    string
	}{
		"nothing":                              {objects: []string{""}, want: "element 1: it contains no object"},
		"another kind":                         {objects: []string{strings.Replace(fleetObject("X", "x", ""), "v1alpha1", "v1", 1)}, want: "element 1: fleet.cattle.io/v1 X is no Policy and no GitRepoRestriction of fleet.cattle.io/v1alpha1"},
		"no name in metadata":                  {objects: []string{"apiVersion: fleet.cattle.io/v1alpha1\nkind: Policy\n"}, want: "element 1: a Policy has no name"},
		"an unknown field":                     {objects: []string{fleetObject("Policy", "x", "allowedServiceAcounts: [x]\n")}, want: "field allowedServiceAcounts not found"},
		"an unknown field of a restriction":    {objects: []string{fleetObject("GitRepoRestriction", "x", "allowedRepos: [x]\n")}, want: "field allowedRepos not found"},
		"an unknown field inside":              {objects: []string{fleetObject("Policy", "x", "helmOp: {allowedCharts: [x]}\n")}, want: "field allowedCharts not found"},
		"downstream resources and restriction": {objects: []string{fleetObject("GitRepoRestriction", "x", "allowedDownstreamResources: []\n")}, want: "GitRepoRestriction x has fields of the other kind"},
		"another kind's":                       {objects: []string{fleetObject("Policy", "x", "allowedRepoPatterns: [x]\n")}, want: "element 1: Policy x has fields of the other kind, which Fleet would ignore"},
		"a selector":                           {objects: []string{fleetObject("GitRepoRestriction", "x", "allowedTargetNamespaceSelector: {matchLabels: {a: b}}\n")}, want: "allowedTargetNamespaceSelector selects namespaces by their labels"},
		"an expression":                        {objects: []string{fleetObject("GitRepoRestriction", "x", "allowedRepoPatterns: ['x)|(y']\n")}, want: `GitRepoRestriction x: pattern "x)|(y"`},
		"an account pattern":                   {objects: []string{fleetObject("Policy", "x", "allowedServiceAccounts: ['*']\n")}, want: `Policy x: "*" is not the name of a service account`},
		"two namespaces in metadata": {
			objects: []string{fleetObject("Policy", "x", ""), strings.Replace(fleetObject("Policy", "y", ""), "fleet-default", "other", 1)},
			want:    `Policy x is in namespace "fleet-default" and Policy y in "other"`,
		},
		"too large": {objects: []string{strings.Repeat("#", 1<<20+1)}, want: "element 1: it is larger than 1048576 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, _, err := policy.FromFleet(tt.objects)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzFromFleet(f *testing.F) {
	f.Add(fleetObject("Policy", "p", "requireServiceAccount: true\ngitRepo: {allowedRepoPatterns: ['a|b']}\nhelmOp: {allowedChartPatterns: ['(?i)x']}\n"), "https://git/x")
	f.Add(fleetObject("GitRepoRestriction", "r", "allowedRepoPatterns: ['^x$']\nallowedTargetNamespaces: [a]\n"), "x")
	f.Add("a: &a [*a]\n---\n{}", "")
	f.Fuzz(func(t *testing.T, text, url string) {
		policies, _, err := policy.FromFleet([]string{text})
		if err != nil {
			return
		}
		set, err := policy.New(policies, nil, nil)
		if err != nil {
			t.Fatalf("a translated policy is refused: %v", err)
		}
		d := policy.Deployment{Repository: url, Namespace: "a"}
		d.ServiceAccount = set.ServiceAccount(d)
		set.Check(d, policy.Content{})
	})
}

func FuzzContent(f *testing.F) {
	f.Add(`{"kind":"Pod","spec":{"containers":[{"image":"nginx@sha256:x"}],"replicas":1e3,"volumes":[{"image":{"reference":1}}]}}`)
	f.Add(`{"kind":"CustomResourceDefinition","spec":{"scope":"Cluster","names":{"kind":"X"}},"metadata":{"labels":{"a":null}}}`)
	f.Fuzz(func(t *testing.T, content string) {
		limit := int64(1)
		set, err := policy.New([]policy.Policy{{
			Name: "p", ImageRegistries: []string{"ghcr.io"}, Labels: map[string]string{"a": "*"}, MaxReplicas: &limit, Namespaces: []string{"x"}, AllowedKinds: []string{"*"},
		}}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		documents := documentsOf(content)
		set.Check(policy.Deployment{}, policy.Content{Documents: documents})
	})
}
