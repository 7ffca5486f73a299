package report_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	notBegun  = "No deployment of this target was started."
	readsOnly = "Reading bundles changes nothing on any cluster."
)

// unlistable are failures of two clusters that refuse to list release records.
func unlistable(namespaces []string) []deploy.Failure {
	var failures []deploy.Failure
	for _, cluster := range []string{"a", "b"} {
		err := &release.ListDeniedError{Namespaces: namespaces, Err: errors.New("user u cannot list secrets")}
		failures = append(failures, deploy.Failure{Cluster: cluster, Doing: "reading the cluster", Err: &status.DeniedError{Cluster: cluster, Err: err}})
	}
	return failures
}

func TestMessages(t *testing.T) {
	t.Parallel()
	wrong := errors.New("it is wrong")
	failed := []deploy.Failure{{Cluster: "a", Bundle: "web", Err: wrong}, {Cluster: "b", Bundle: "web", Err: wrong}, {Cluster: "a", Bundle: "db", Err: errors.New("no chart")}}
	causes := func(cause string, deployments ...string) *status.Grouped {
		var grouped status.Grouped
		for _, deployment := range deployments {
			grouped.Add(cause, deployment)
		}
		return &grouped
	}
	tests := map[string]struct {
		got  []report.Message
		want []report.Message
	}{
		"plan": {
			got: report.Plan("all", &plan.Plan{
				Counts: status.Changes{Removed: 1}, Unreachable: []string{"gone"}, Exceeded: plan.RemovalLimit{Max: "x"}.Check(1, 1, 1),
				Change: plan.Change{Held: failed[2:]}, Failures: failed[:1],
			}, plan.Desired{Unreadable: map[string]error{"new": wrong}}, nil, deploy.ForgetMissing, map[string]string{"a": "uid", "b": "uid"}),
			want: slices.Concat(
				report.MissingClusters("all", []string{"gone"}, deploy.ForgetMissing),
				report.Exceeded("all", plan.RemovalLimit{Max: "x"}.Check(1, 1, 1), 1),
				report.Held("all", []deploy.Failure{failed[2], {Cluster: "*", Bundle: "new", Err: wrong}}),
				report.SameClusters("all", [][]string{{"a", "b"}}),
				report.PlanFailures("all", failed[:1]),
			),
		},
		"summary of a change": {
			got: report.Change("all", plan.Summary{
				Counts: status.Changes{Added: 2, Removed: 3, Kept: 1}, Stages: "1. web on a, b",
				Uninstalled: []plan.OnClusters{{Clusters: []string{"a", "b"}, Names: []string{"shop/logs"}}, {Clusters: []string{"c"}, Names: []string{"shop/web"}}},
			}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: 3 releases will be uninstalled, deployments +2 ~0 -3 =1",
				Detail: "1. web on a, b\n\nUninstalled:\n  - a, b: shop/logs\n  - c: shop/web",
			}},
		},
		"summary of new namespaces": {
			got: report.Change("all", plan.Summary{
				Counts: status.Changes{Added: 3}, Stages: "1. web on a, b",
				Namespaces: []plan.OnClusters{{Clusters: []string{"a", "b"}, Names: []string{"logs", "shop"}}, {Clusters: []string{"c"}, Names: []string{"shop"}}},
			}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: deployments +3 ~0 -0 =0",
				Detail: "1. web on a, b\n\nNew namespaces:\n  - a, b: logs, shop\n  - c: shop",
			}},
		},
		"summary of a destroy": {
			got: report.Change("all", plan.Summary{
				Counts: status.Changes{Removed: 1}, Destroys: true, Uninstalled: []plan.OnClusters{{Clusters: []string{"a"}, Names: []string{"shop/web"}}},
			}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: 1 release will be uninstalled, deployments +0 ~0 -1 =0",
				Detail: "If you renamed the resource, add a moved block. Then no release is uninstalled.\n\nUninstalled:\n  - a: shop/web",
			}},
		},
		"summary of a replacement": {
			got: report.Change("all", plan.Summary{Counts: status.Changes{Added: 1, Kept: 2}, Stages: "1. web on b", Replaces: true}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: deployments +1 ~0 -0 =2",
				Detail: "If Terraform replaces this target, its releases stay: the new target has those that it wants. " +
					"If you renamed the resource, add a moved block.\n\n1. web on b",
			}},
		},
		"summary of no removal": {
			got:  report.Change("all", plan.Summary{Counts: status.Changes{Added: 2, Held: 1}, Stages: "1. web on a, b\nHeld: logs on a"}),
			want: []report.Message{{Severity: report.Warning, Summary: "Target all: deployments +2 ~0 -0 =0, 1 held", Detail: "1. web on a, b\nHeld: logs on a"}},
		},
		"summary of no change": {got: report.Change("all", plan.Summary{Counts: status.Changes{Kept: 9, Held: 1}, Stages: "Held: logs on a"})},
		"summary of many removals": {
			got: report.Change("all", plan.Summary{Counts: status.Changes{Removed: 12}, Uninstalled: manyUninstalled()}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: 24 releases will be uninstalled, deployments +0 ~0 -12 =0",
				Detail: "Uninstalled:\n  - c01, c02, c03, c04, c05, c06, c07, c08, c09, c10 and 2 more: shop/r01\n" +
					"  - x: shop/r01, shop/r02, shop/r03, shop/r04, shop/r05, shop/r06, shop/r07, shop/r08, shop/r09, shop/r10 and 2 more",
			}},
		},
		"plan without changes": {
			got: report.Plan("all", &plan.Plan{}, plan.Desired{}, nil, deploy.MissingIsError, map[string]string{"a": "uid", "b": "uid"}),
		},
		"preview": {
			got: report.Preview("all", true, &plan.Plan{}, preview.Reports{
				MissingDependencies: failed[2:], Ownership: preview.OwnershipReport{Taken: []string{"a/web"}}, MissingValues: map[string][]string{"Secret ns/b": {"a/web"}},
			}),
			want: slices.Concat(
				report.MissingDependencies("all", failed[2:]),
				report.Ownership("all", true, preview.OwnershipReport{Taken: []string{"a/web"}}),
				report.MissingValues("all", map[string][]string{"Secret ns/b": {"a/web"}}),
			),
		},
		"clusters that list no releases": {
			got: report.Ownership("all", false, preview.OwnershipReport{Denied: unlistable(nil)}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: cannot list releases on a, b",
				Detail: "  - a, b: the cluster denies the request (user u cannot list secrets)\n\n" +
					"It is not known which releases and objects exist there, and who owns them. The plan shows the deployments there as new. " +
					"The apply lists the releases first, and fails there if it may not.\n\n" +
					"Permit the user to list Secrets in all namespaces. If it may do so in some namespaces only, set namespaces in the entry of the cluster.",
			}},
		},
		"clusters that list no releases of some namespaces": {
			got: report.Unobserved("all", unlistable([]string{"ns"}), false),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: cannot read a, b",
				Detail: "Clusters: a, b\n\nCause: the cluster denies the request (user u cannot list secrets)\n\n" +
					"The state keeps their deployments as last read. None of them counts as removed. " +
					"A change planned for these clusters fails if the cause persists during the apply. All other changes are applied.\n\n" +
					"Permit the user to list Secrets in all namespaces of the cluster's attribute namespaces, or remove those without releases from it.",
			}},
		},
		"rule": {
			got: report.RuleFailure("all", fmt.Errorf("targeting: %w", &target.RuleError{Index: 1, Err: wrong})),
			want: []report.Message{{
				Attribute: []any{"targets", 1}, Summary: "Target all: cannot select its clusters", Detail: "Targeting: rule 2: it is wrong.\n\n" + notBegun,
			}},
		},
		"rules without an index": {
			got:  report.RuleFailure("all", wrong),
			want: []report.Message{{Attribute: []any{"targets"}, Summary: "Target all: cannot select its clusters", Detail: "It is wrong.\n\n" + notBegun}},
		},
		"rules without any cluster": {
			got: report.UnmatchedRules("all", []int{0}, nil),
			want: []report.Message{{
				Severity: report.Warning, Attribute: []any{"targets", 0}, Summary: "Target all: rule 1 matches no cluster",
				Detail: "The provider has no clusters. If the clusters are in another provider block, set provider of the target to it.",
			}},
		},
		"rules without clusters": {
			got: report.UnmatchedRules("all", []int{0, 2}, []string{"a", "b"}),
			want: []report.Message{
				{Severity: report.Warning, Attribute: []any{"targets", 0}, Summary: "Target all: rule 1 matches no cluster", Detail: "The provider's clusters are: a, b."},
				{Severity: report.Warning, Attribute: []any{"targets", 2}, Summary: "Target all: rule 3 matches no cluster", Detail: "The provider's clusters are: a, b."},
			},
		},
		"one failure for each cause": {
			got: report.PlanFailures("all", failed),
			want: []report.Message{
				{Summary: "Target all: cannot plan a/web, b/web", Detail: "Deployments: a/web, b/web\n\nIt is wrong.\n\n" + notBegun + " Correct the bundle and plan again."},
				{Summary: "Target all: cannot plan a/db", Detail: "Deployments: a/db\n\nNo chart.\n\n" + notBegun + " Correct the bundle and plan again."},
			},
		},
		"data source": {
			got:  report.RenderFailures(failed[2:], nil),
			want: []report.Message{{Summary: "Cannot render a/db", Detail: "Deployments: a/db\n\nCause: no chart"}},
		},
		"data source that stops": {
			got:  report.RenderFailures(failed[2:], []deploy.Key{{Cluster: "a", Bundle: "web"}, {Cluster: "b", Bundle: "web"}}),
			want: []report.Message{{Summary: "Cannot render a/db", Detail: "Deployments: a/db\n\nCause: no chart\n\nNot rendered after this failure: a/web, b/web"}},
		},
		"plan that stops": {
			got: report.Plan("all", &plan.Plan{Failures: failed[2:], NotRendered: []deploy.Key{{Cluster: "b", Bundle: "db"}}}, plan.Desired{}, nil, deploy.MissingIsError, nil),
			want: []report.Message{{
				Summary: "Target all: cannot plan a/db",
				Detail:  "Deployments: a/db\n\nNo chart.\n\n" + notBegun + " Correct the bundle and plan again.\n\nNot rendered after this failure: b/db",
			}},
		},
		"shortened timeouts": {
			got: report.ShortenedTimeouts("all", *causes("bundle web: helm.timeoutSeconds is 7200", "a", "b"), 30*time.Minute),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: timeouts of bundles are shortened",
				Detail: "The target permits 30m0s for one deployment:\n  - bundle web: helm.timeoutSeconds is 7200: on a, b\n\nThis is half of timeouts, or deployment_timeout if that is longer. " +
					"To permit more, raise timeouts of the target.",
			}},
		},
		"no shortened timeouts": {got: report.ShortenedTimeouts("all", status.Grouped{}, time.Minute)},
		"write-only input": {
			got: report.InvalidWriteOnly("all", errors.Join(&target.WriteOnlyError{Attribute: "values_wo", Bundle: "web", Err: wrong}, wrong)),
			want: []report.Message{
				{Attribute: []any{"values_wo"}, Summary: "Target all: invalid write-only input", Detail: "Bundle web: values_wo: it is wrong.\n\n" + notBegun},
				{Summary: "Target all: invalid write-only input", Detail: "It is wrong.\n\n" + notBegun},
			},
		},
		"within the limit": {got: report.Exceeded("all", nil, 2)},
		"nothing left": {
			got: report.Exceeded("all", &plan.EmptyError{Before: 3}, 3),
			want: []report.Message{{
				Attribute: []any{"targets"}, Summary: "Target all: all deployments would be removed",
				Detail: "No cluster matches or there are no bundles, so all 3 deployments would be removed. If you intend this, set allow_empty = true.",
			}},
		},
		"too many removals": {
			got: report.Exceeded("all", &plan.TooManyRemovalsError{Max: "10%", Removals: 2, Limit: 1, Before: 10}, 2),
			want: []report.Message{{
				Attribute: []any{"max_removals"}, Summary: "Target all: 2 deployments would be removed",
				Detail: "max_removals = \"10%\" allows 1 of 10. " + notBegun + " If you intend this, raise it for this change.",
			}},
		},
		"no number": {
			got: report.Exceeded("all", plan.RemovalLimit{Max: "x"}.Check(1, 1, 1), 2),
			want: []report.Message{{
				Attribute: []any{"max_removals"}, Summary: "Invalid number of removals",
				Detail: "\"x\" is neither a number of deployments nor a percentage from 0% to 100%.",
			}},
		},
		"nothing held": {got: report.Held("all", nil)},
		"held": {
			got: report.Held("all", failed),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: deployments are held",
				Detail: "  - a/web, b/web: it is wrong\n  - a/db: no chart\n\nExisting deployments stay as they are, and new ones are not installed. A later apply deploys them.",
			}},
		},
		"unconnected": {
			got: report.Unconnected(map[string]error{"b": wrong, "a": errors.New("no host")}),
			want: []report.Message{
				{Summary: "Cannot connect to cluster a", Detail: "No host.\n\n" + notBegun + " Correct the entry a in the provider's clusters."},
				{Summary: "Cannot connect to cluster b", Detail: "It is wrong.\n\n" + notBegun + " Correct the entry b in the provider's clusters."},
			},
		},
		"entry removed": {
			got: report.MissingClusters("all", []string{"a"}, deploy.MissingIsError),
			want: []report.Message{{
				Attribute: []any{"targets"}, Summary: "Target all: cluster a is not in the provider's clusters any more",
				Detail: "This target still has deployments on the cluster. They cannot be removed, because the connection needs a secret that is not stored. Restore its entry for one apply, or set on_missing = \"forget\" on the provider to leave the deployments on the cluster.",
			}},
		},
		"entry removed and forgotten": {
			got: report.MissingClusters("all", []string{"a"}, deploy.ForgetMissing),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: deployments on cluster a are forgotten",
				Detail: "The provider's clusters no longer contain it and on_missing is \"forget\". Its deployments are removed from the state and stay on the cluster.",
			}},
		},
		"entry removed, policy unknown": {got: report.MissingClusters("all", []string{"a"}, deploy.OnMissingUnknown)},
		"same cluster twice": {
			got: report.SameClusters("all", [][]string{{"a", "b"}}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: several entries of clusters connect to one cluster",
				Detail: "The namespace kube-system has the same UID for these entries:\n  - a, b\n\nTwo releases of one name under these entries would be one release.",
			}},
		},
		"same cluster and release twice": {
			got: report.OverlappingClusters("all", [][]string{{"a", "b"}}),
			want: []report.Message{{
				Summary: "Target all: several entries of clusters connect to one cluster",
				Detail: "The namespace kube-system has the same UID for these entries:\n  - a, b\n\n" +
					"The target deploys the same releases under these entries, so they would overwrite each other. " + notBegun + " Keep one of the entries.",
			}},
		},
		"unobserved": {
			got: report.Unobserved("all", []deploy.Failure{{Cluster: "a", Err: wrong}, {Cluster: "b", Err: wrong}}, false),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: cannot read a, b",
				Detail: "Clusters: a, b\n\nCause: it is wrong\n\nThe state keeps their deployments as last read. None of them counts as removed. " +
					"A change planned for these clusters fails if the cause persists during the apply. All other changes are applied.",
			}},
		},
		"unobserved is an error": {
			got: report.Unobserved("all", []deploy.Failure{{Cluster: "a", Err: wrong}}, true),
			want: []report.Message{{
				Summary: "Target all: cannot read a",
				Detail:  "Clusters: a\n\nCause: it is wrong\n\nThe provider's on_unreachable is \"error\". Correct the cause and apply again. Only failed deployments are retried.",
			}},
		},
		"another cluster": {
			got: report.Unobserved("all", []deploy.Failure{{Cluster: "a", Err: &deploy.OtherClusterError{Cluster: "a", Want: "before", Got: "now"}}}, false),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: cannot read a",
				Detail: "Clusters: a\n\nCause: the connection reaches another cluster: the UID of its namespace kube-system is now, and has to be before\n\n" +
					"The state keeps their deployments as last read. None of them counts as removed. A change planned for these clusters fails if the cause persists during the apply. All other changes are applied.\n\n" +
					"If this connection is wrong, correct it. If the former connection was wrong, or the cluster was replaced, set uid = \"now\" in its entry. " +
					"The next apply then adds the deployments on this cluster, and those on the former cluster stay there. " +
					"To remove those first, restore the former connection, exclude the cluster from the target's rules, and apply.",
			}},
		},
		"unobserved by its configuration": {
			got: report.Unobserved("all", []deploy.Failure{{Cluster: "a", Err: &status.ConnectionError{Cluster: "a", Invalid: true, Err: wrong}}, {Cluster: "b", Err: &status.ConnectionError{Cluster: "b", Err: wrong}}}, false),
			want: []report.Message{
				{
					Summary: "Target all: cannot read a",
					Detail:  "Clusters: a\n\nCause: reading the connection of cluster a: it is wrong\n\nCorrect the connection in the provider's clusters. Nothing was changed.",
				},
				{
					Severity: report.Warning, Summary: "Target all: cannot read b",
					Detail: "Clusters: b\n\nCause: reading the connection of cluster b: it is wrong\n\nThe state keeps their deployments as last read. None of them counts as removed. " +
						"A change planned for these clusters fails if the cause persists during the apply. All other changes are applied.",
				},
			},
		},
		"values that are not there": {
			got: report.MissingValues("all", map[string][]string{"Secret ns/b": {"a/web"}, "ConfigMap ns/a": {"a/web", "b/web"}}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: values are missing on clusters",
				Detail: "helm.valuesFrom names objects that do not exist:\n  - ConfigMap ns/a: a/web, b/web\n  - Secret ns/b: a/web\n\n" +
					"These deployments will fail unless the objects exist by then. Create them, or list the resources that create them in depends_on of the target.",
			}},
		},
		"moves": {
			got: report.Moves("all", map[string]release.Moves{"a": {Leaving: map[string]map[string]string{"old": {"ConfigMap ns/x": "new"}}}, "b": {Leaving: map[string]map[string]string{"old": {"ConfigMap ns/x": "new"}}}}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: objects move from one bundle to another",
				Detail: "  - ConfigMap ns/x moves from bundle old to bundle new: on a, b\n\nThe objects stay on their clusters. The new release adopts them, and the former release does not delete them.",
			}},
		},
		"objects unknown": {
			got: report.UnknownObjects("all", causes("it uses lookup", "a/web", "b/web"), false),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: objects are known only after the apply",
				Detail: "The objects of these charts are known only after apply:\n  - a/web, b/web: it uses lookup\n\nThe hashes of these objects are unknown until then. The digest decides what is deployed, so nothing changes unless the bundle changes.",
			}},
		},
		"no objects shown": {
			got: report.UnknownObjects("all", causes("it asks for a.example.com/v1", "a/web"), true),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: objects are known only after the apply",
				Detail: "The objects of these charts are known only after apply:\n  - a/web: it asks for a.example.com/v1\n\n" +
					"The plan of a new target is made again before the apply, and these clusters can be read by then. So objects is unknown as a whole. " +
					"To know it now, set kube_version and api_versions of these clusters in the provider. The digest decides what is deployed, so nothing changes unless the bundle changes.",
			}},
		},
		"not compared": {
			got:  report.Diff("all", preview.DiffReport{NotCompared: *causes("it does not respond", "a/web")}),
			want: []report.Message{{Severity: report.Warning, Summary: "Target all: changes in rendered objects", Detail: "Not compared: a/web: it does not respond."}},
		},
		"no definitions": {got: report.Definitions("all", preview.DefinitionReport{})},
		"replaced": {
			got: report.Replaced("all", 2),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all is replaced: its replacement keeps 2 releases",
				Detail: "The new target adopts them when it is created. If the create fails, import the target by its name. Until then these releases are in no state.",
			}},
		},
		"orphans": {
			got: report.Orphans("all", []deploy.Orphan{{Cluster: "b", Release: "web", Namespace: "ns"}, {Cluster: "a", Release: "web", Namespace: "ns", Objects: []string{"Pod ns/x"}}}, nil),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: releases with its id are not in its state",
				Detail: "  - a: release web in namespace ns (Pod ns/x)\n  - b: release web in namespace ns (its record cannot be read)\n\n" +
					"A killed apply can have created them, or any user who may create Secrets there. They are not removed: an apply removes only releases in the state. " +
					"Remove one with `helm uninstall RELEASE --namespace NAMESPACE` on its cluster, or deploy its bundle with this target again and then remove the bundle.",
			}},
		},
		"refused, perhaps": {
			got: report.Ownership("all", true, preview.OwnershipReport{Refused: []string{"a/web: release web"}}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: may be unable to take over releases or objects of other owners",
				Detail: "  - a/web: release web\n\nThese deployments will fail, and existing objects stay as they are. The value of take_ownership or take_ownership_of is not known yet. With consent, the apply takes them over instead.",
			}},
		},
		"refused": {
			got: report.Ownership("all", false, preview.OwnershipReport{Refused: []string{"a/web: release web", "b/db: release db"}, RefusedOf: []deploy.Key{{Cluster: "a", Bundle: "web"}, {Cluster: "b", Bundle: "db"}}}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: cannot take over releases or objects of other owners",
				Detail: "  - a/web: release web\n  - b/db: release db\n\nThese deployments will fail, and existing objects stay as they are. " +
					"To take them over, set take_ownership_of = [\"a/web\", \"b/db\"] on the target. Or choose other names.",
			}},
		},
		"many refused": {
			got: report.Ownership("all", false, preview.OwnershipReport{Refused: []string{"each"}, RefusedOf: slices.Repeat([]deploy.Key{{Cluster: "a", Bundle: "web"}}, 6)}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: cannot take over releases or objects of other owners",
				Detail: "  - each\n\nThese deployments will fail, and existing objects stay as they are. " +
					"To take them over, set take_ownership_of with patterns of these deployments, such as \"a/web\", on the target. Or choose other names.",
			}},
		},
		"nothing accepted": {got: report.Accepted("all", []deploy.Notice{{Cluster: "a", Bundle: "web", Waits: "x"}})},
		"accepted fields": {
			got: report.Accepted("all", []deploy.Notice{
				{Cluster: "a", Bundle: "web", Accepted: []string{"Deployment ns/web: spec.replicas", "ConfigMap ns/web: data.key"}},
				{Cluster: "b", Bundle: "web", Accepted: []string{"Deployment ns/web: spec.replicas"}},
			}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: clusters changed fields when they were written",
				Detail: "A webhook or the API server gave these fields another value, or removed them. The state accepts what is there now, and no plan shows it as drift. " +
					"Another later value is drift. If the change is not intended, correct the bundle or the webhook:\n\n" +
					"  - Deployment ns/web: spec.replicas (a/web, b/web)\n  - ConfigMap ns/web: data.key (a/web)",
			}},
		},
		"no pattern without effect": {got: report.UnmatchedConsent("all", nil)},
		"patterns without effect": {
			got: report.UnmatchedConsent("all", []string{"eu/wbe"}),
			want: []report.Message{{
				Severity: report.Warning, Attribute: []any{"take_ownership_of"}, Summary: "Target all: patterns of take_ownership_of match no deployment",
				Detail: "  - eu/wbe\n\nThey have no effect. A pattern is compared with CLUSTER/BUNDLE, as in the attribute deployments. Correct them, or remove them if their deployments are gone.",
			}},
		},
		"conflicts": {
			got: report.Conflicts("all", []plan.Conflict{{Release: "ns/web", Target: "other", Theirs: "a/www", Ours: "a/web"}, {Release: "ns/db", Target: "other", Theirs: "a/db", Ours: "a/db"}}),
			want: []report.Message{{
				Summary: "Targets other and all want the same releases",
				Detail: "  - a/web: release ns/web, which is a/www in the other target\n  - a/db: release ns/db\n\n" +
					"A release has one owner. Remove the bundle or the cluster from one of the targets, or give the releases different names.\n\n" + notBegun,
			}},
		},
		"two bundles of one name": {
			got: report.UnreadBundles("Target all", &source.SameNameError{Bundle: "web", Index: 1}, func(error) string { return "" }),
			want: []report.Message{{
				Attribute: []any{"bundles", 1}, Summary: "Target all: two bundles have the name web",
				Detail: "A cluster can have only one release of that name. Rename one of the bundles.",
			}},
		},
		"unreadable bundle": {
			got:  report.UnreadBundles("Target all", &source.UnreadableError{Bundle: "web", Err: wrong}, func(error) string { return "" }),
			want: []report.Message{{Attribute: []any{"bundles"}, Summary: "Target all: cannot read bundle web", Detail: "It is wrong.\n\n" + readsOnly}},
		},
		"unreadable bundle with advice": {
			got:  report.UnreadBundles("Target all", &source.UnreadableError{Bundle: "web", Err: wrong}, func(error) string { return "Do this." }),
			want: []report.Message{{Attribute: []any{"bundles"}, Summary: "Target all: cannot read bundle web", Detail: "It is wrong.\n\n" + readsOnly + " Do this."}},
		},
		"setting": {
			got:  report.InvalidSetting("registries", "Invalid registries", wrong),
			want: []report.Message{{Attribute: []any{"registries"}, Summary: "Invalid registries", Detail: "It is wrong."}},
		},
		"key for sops": {
			got:  report.InvalidSOPSKey("age_keys", 1, wrong),
			want: []report.Message{{Attribute: []any{"sops", "age_keys", 1}, Summary: "Invalid key for sops", Detail: "It is wrong."}},
		},
		"cluster that is null": {
			got: report.NullCluster("a"),
			want: []report.Message{{
				Attribute: []any{"clusters", report.MapKey("a")}, Summary: "Cluster a is null",
				Detail: "A null entry has no connection. Omit its key, for example with an \"if\" in the expression that builds the map.",
			}},
		},
		"values of a cluster": {
			got: report.InvalidTemplateValues("a", wrong),
			want: []report.Message{{
				Attribute: []any{"clusters", report.MapKey("a"), "template_values"}, Summary: "Invalid template values of cluster a",
				Detail: "They must be a map written as YAML or JSON: it is wrong",
			}},
		},
		"everything to render is known": {got: report.RenderUnknown("")},
		"unknown to render": {
			got: report.RenderUnknown("the bundle web"),
			want: []report.Message{{
				Summary: "Cannot render with unknown input",
				Detail:  "Not known yet: the bundle web. Or list the resources that produce the value in depends_on of the data source. Terraform then reads it during apply.",
			}},
		},
		"nothing unknown for an import": {got: report.ImportUnknown("all", nil)},
		"imported": {
			got: report.Imported("all", []string{"a/db", "a/web"}, []string{"a/db"}),
			want: []report.Message{{
				Severity: report.Warning, Summary: "Target all: 2 releases are imported",
				Detail: "These releases have the owner and the name of this target: a/db, a/web.\n\n" +
					"If another state still contains them, remove the target from that state with a removed block or terraform state rm. Destroying it there would uninstall these releases.\n\n" +
					"Until an apply has written a release, hooks in its record are not run, and no rollback uses the record.\n\n" +
					"Several targets of this name created these releases. These belong to another target than the rest: a/db.",
			}},
		},
		"private state that can be read": {got: report.UnreadablePrivateState(nil)},
		"private state that is damaged": {
			got: report.UnreadablePrivateState(&state.DamagedError{}),
			want: []report.Message{{
				Summary: "Cannot read the private state of the target",
				Detail:  "The private state is damaged.\n\n" + notBegun + " Restore the state from a backup, or remove the target from the state with `terraform state rm` and import it by its name.",
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// hostError begins with a name that looks like a word.
type hostError struct{}

func (hostError) Error() string   { return "host is no URL" }
func (hostError) BeginsWithName() {}

func TestSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no route":                        "No route.",
		"bundle web: no chart.":           "Bundle web: no chart.",
		"it's gone":                       "It's gone.",
		"éa":                              "Éa.",
		"":                                ".",
		"https://example.com/a is closed": "https://example.com/a is closed.",
		"oci://example.com/a: denied":     "oci://example.com/a: denied.",
		"max_removals is too small":       "max_removals is too small.",
		"helm.chart is wrong":             "helm.chart is wrong.",
		"targetCustomizations[0]: no":     "targetCustomizations[0]: no.",
		"forceSyncGeneration is negative": "forceSyncGeneration is negative.",
		"web/fleet.yaml: line 3: no":      "web/fleet.yaml: line 3: no.",
		"a.yaml: line 3: no":              "a.yaml: line 3: no.",
		"cluster: denied":                 "Cluster: denied.",
	} {
		if got := report.Sentence(errors.New(text)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got, want := report.Sentence(hostError{}), "host is no URL."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBundleMessages(t *testing.T) {
	t.Parallel()
	repo := report.BundleSource{Name: "apps", Attribute: "repo", ReadsPaths: true}
	tests := map[string]struct {
		of      report.BundleSource
		planned source.Planned
		err     error
		hint    string
		want    []report.Message
	}{
		"nothing": {of: repo},
		"any error": {of: repo, err: errors.New("no route"), hint: "Look.", want: []report.Message{
			{Attribute: []any{"repo"}, Summary: "Cannot build the bundles of apps", Detail: "No route.\n\n" + readsOnly + " Look."},
		}},
		"no bundle": {of: repo, err: &bundle.NoMatchError{}, want: []report.Message{
			{Attribute: []any{"paths"}, Summary: "Cannot build the bundles of apps", Detail: report.Sentence(&bundle.NoMatchError{}) + "\n\n" + readsOnly},
		}},
		"wrong file of one bundle": {of: report.BundleSource{Name: "web", Attribute: "directory"}, err: &fleetyaml.Error{}, want: []report.Message{
			{Attribute: []any{"directory"}, Summary: "Cannot build the bundles of web", Detail: report.Sentence(&fleetyaml.Error{}) + "\n\n" + readsOnly + " Correct the file and plan again."},
		}},
		"several": {
			of:  repo,
			err: errors.Join(&source.ElementError{Bundle: "web", Problem: source.ChangedSincePlan}, &source.ElementError{Bundle: "db", Problem: source.UnreadableChart, Err: errors.New("gone")}),
			want: []report.Message{
				{Summary: "The source of apps changed since it was planned", Detail: "Bundle web differs from the planned one. It was deployed to no cluster. Plan and apply again."},
				{Summary: "Cannot read the chart of bundle db", Detail: "Gone."},
			},
		},
		"held": {of: repo, planned: source.Planned{Broken: []error{errors.New("no chart"), errors.New("no file")}}, want: []report.Message{{
			Severity: report.Warning, Summary: "GitRepo apps: bundles are held",
			Detail: "  - no chart\n  - no file\n\nThese bundles stay as they are, and new bundles are left out. No bundle is removed until all bundles can be built.",
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.of.Planned(test.planned, test.err, func(error) string { return test.hint })
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func manyUninstalled() []plan.OnClusters {
	many := []plan.OnClusters{{Names: []string{"shop/r01"}}, {Clusters: []string{"x"}}}
	for i := range 12 {
		many[0].Clusters = append(many[0].Clusters, fmt.Sprintf("c%02d", i+1))
		many[1].Names = append(many[1].Names, fmt.Sprintf("shop/r%02d", i+1))
	}
	return many
}
