package report_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// The same cause on many clusters is reported in one message.
func TestFailuresAreGroupedByCause(t *testing.T) {
	t.Parallel()
	down := func(cluster string) error {
		return &status.UnreachableError{Cluster: cluster, Err: &url.Error{Op: "Get", URL: "https://x", Err: errors.New("connection refused")}}
	}
	outcome := deploy.Outcome{
		Records: map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "one"}: {State: status.ErrApplied, Release: "one", Namespace: "ns"}},
		Failures: []deploy.Failure{
			{Cluster: "a", Bundle: "one", Doing: "upgrading", Err: errors.New("immutable")},
			{Cluster: "b", Bundle: "one", Doing: "deploying", Err: down("b")},
			{Cluster: "c", Bundle: "one", Doing: "deploying", Err: down("c")},
		},
	}
	messages := report.Failures("all", outcome)
	if len(messages) != 2 || messages[0].Severity != report.Error || messages[1].Severity != report.Error {
		t.Fatalf("%d messages, want 2 errors: %v", len(messages), messages)
	}
	for i, want := range [][]string{
		{"upgrading a/one failed", "immutable", "a/one is ErrApplied (release one in namespace ns)", "Next:"},
		{"2 deployments failed", "b/one, c/one", "does not respond", "connection refused", "b/one is not deployed", "Make the cluster reachable"},
	} {
		text := messages[i].Summary + "\n" + messages[i].Detail
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("message %d lacks %q:\n%s", i, part, text)
			}
		}
	}
}

// The advice depends on the cause, however the cause is wrapped.
func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want string
	}{
		"any":    {err: errors.New("immutable"), want: "Correct the cause and apply again. Only failed deployments are retried."},
		"denied": {err: &status.DeniedError{Cluster: "a", Err: errors.New("forbidden")}, want: "Check the credentials of the cluster, the permissions of its user, and its quotas and policies. Then apply again."},
		"another one": {
			err: &deploy.OtherClusterError{Cluster: "a", Got: "now"},
			want: "If this connection is wrong, correct it. If the former connection was wrong, or the cluster was replaced, set uid = \"now\" in its entry. " +
				"The next apply then adds the deployments on this cluster, and those on the former cluster stay there. " +
				"To remove those first, restore the former connection, exclude the cluster from the target's rules, and apply.",
		},
		"one without a UID": {
			err: &deploy.OtherClusterError{Cluster: "a"}, want: "Correct the connection of the cluster, or permit its user to read the namespace kube-system.",
		},
		"no address":     {err: &status.ExhaustedError{Err: errors.New("range is full")}, want: "Delete Services that are no longer needed, or extend the ranges of the cluster for their addresses or ports. Then apply again."},
		"entry removed":  {err: &status.MissingClusterError{Name: "a"}, want: "Restore the cluster's entry for one apply, or set on_missing = \"forget\" on the provider."},
		"no dependency":  {err: &rollout.MissingDependencyError{Bundle: "db"}, want: "Add that bundle to the target. Or deploy it with another target of the same owner, and list that target in depends_on."},
		"held":           {err: &rollout.HeldError{Reason: "db failed"}, want: "Correct the cause and apply again. The next apply continues where this one stopped."},
		"other owner":    {err: &release.ForeignError{Ownership: release.OtherOwner}, want: "Set take_ownership_of = [\"a/web\"] on the target to take over the release, or choose another release name."},
		"another target": {err: &release.ForeignError{Ownership: release.OtherTarget}, want: "Remove the release from the other target and apply again, give both targets the same adoption_key, or set take_ownership_of = [\"a/web\"]."},
		"another tool":   {err: &release.ForeignError{Ownership: release.OtherTool}, want: "To overwrite or remove the release, set take_ownership_of = [\"a/web\"] on the target. A removal then leaves it if its record names another target. To leave it to any owner, remove the target from the state (terraform state rm)."},
		"unlisted": {
			err:  &release.UnlistedError{Release: "web", Namespace: "ns", Revision: 3},
			want: "Apply again when the API server lists all Secrets. If the release is gone, delete the remaining Secrets of its record. Their names are sh.helm.release.v1.RELEASE.vREVISION, such as sh.helm.release.v1.web.v3 in namespace ns.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			messages := report.Failures("all", deploy.Outcome{Failures: []deploy.Failure{{Cluster: "a", Bundle: "web", Doing: "upgrading", Err: test.err}}})
			_, next, _ := strings.Cut(messages[0].Detail, "Next: ")
			if diff := cmp.Diff(test.want, next); diff != "" {
				t.Errorf("advice (-want +got):\n%s", diff)
			}
			if isHeld := messages[0].Summary == "Target all: held: a/web"; isHeld != (name == "held") {
				t.Errorf("summary %q", messages[0].Summary)
			}
		})
	}
}

// Each reason is reported in one warning for all deployments.
func TestNotices(t *testing.T) {
	t.Parallel()
	messages := report.Notices("all", []deploy.Notice{
		{Cluster: "a", Bundle: "web", Removed: release.Removed{Kept: []string{"PersistentVolumeClaim ns/data", "ConfigMap ns/kept"}, Untrusted: true}},
		{Cluster: "b", Bundle: "web", Removed: release.Removed{Kept: []string{"ConfigMap ns/kept"}, InNamespace: []string{"Pod ns/other"}}},
		{Cluster: "c", Bundle: "web", LeftTo: "target other"},
	})
	want := []report.Message{
		{
			Severity: report.Warning, Summary: "Target all: objects stay on their clusters",
			Detail: "These releases were uninstalled, and some of their objects remain. They have the annotation helm.sh/resource-policy: keep, as all custom resource definitions do without deleteCRDResources. No release owns these objects any more.\n\n" +
				"  - a/web: PersistentVolumeClaim ns/data, ConfigMap ns/kept\n  - b/web: ConfigMap ns/kept",
		},
		{
			Severity: report.Warning, Summary: "Target all: namespaces stay on their clusters",
			Detail: "They are not deleted in spite of deleteNamespace, because they contain other objects:\n\n  - b/web: Pod ns/other",
		},
		{
			Severity: report.Warning, Summary: "Target all: release records differ from what this target wrote",
			Detail: "Another client changed these records, or the target adopted the releases and has not written them since. Only objects whose annotations name the release were removed:\n\n  - a/web: its hooks were not run",
		},
		{
			Severity: report.Warning, Summary: "Target all: releases of other owners are not removed",
			Detail: "These owners took over the releases, which stay as they are:\n\n  - c/web: target other",
		},
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	key := func(bundle string) deploy.Key { return deploy.Key{Cluster: "a", Bundle: bundle} }
	outcome := deploy.Outcome{
		Failures: []deploy.Failure{{Cluster: "a", Bundle: "late", Doing: "deploying", Err: fmt.Errorf("not started: %w", context.Canceled)}},
		Interruption: &deploy.Interruption{
			Finished: []deploy.Key{key("web"), key("db")}, Removed: []deploy.Key{key("old")}, TakenBack: []deploy.Key{key("api")},
			Unfinished: []deploy.Key{key("job")}, NotStarted: []deploy.Key{key("late")},
		},
	}
	want := []report.Message{{
		Severity: report.Error, Summary: "Target all: the apply was interrupted",
		Detail: "Finished (2): a/web, a/db\n\nRemoved (1): a/old\n\nTaken back, as before this apply (1): a/api\n\nStarted and not finished (1): a/job\n\n" +
			"Not started, as before this apply (1): a/late\n\nNext: Apply again. The next apply keeps what is finished. " +
			"It carries out all other deployments, and recovers each release whose operation was stopped.",
	}}
	if diff := cmp.Diff(want, report.Failures("all", outcome)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	outcome = deploy.Outcome{Interruption: &deploy.Interruption{Finished: []deploy.Key{key("web")}}}
	if got := report.Failures("all", outcome); len(got) != 0 {
		t.Errorf("everything was finished, and yet: %v", got)
	}
}
