package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

// Each object has one line. What fails and what is replaced are two messages.
func TestImmutable(t *testing.T) {
	t.Parallel()
	change := func(cluster, object string, replaces bool) preview.ImmutableChange {
		return preview.ImmutableChange{
			Key: deploy.Key{Cluster: cluster, Bundle: "web"}, Replaces: replaces,
			Change: immutable.Change{Object: object, Fields: []string{"spec.one", "spec.two"}},
		}
	}
	const (
		job, claim = "Job.batch/ns/web", "PersistentVolumeClaim/ns/web"
		forced     = "To delete these objects and create them again, set helm.force = true in the bundle. Or restore the former values, or give the objects other names."
		restored   = "Restore the former values, or give the objects other names."
		never      = " helm.force never deletes volumes, claims of volumes and custom resource definitions, because data would be lost."
	)
	refused := func(lines, ways string) report.Message {
		return report.Message{
			Severity: report.Warning, Summary: "Target all: fields cannot be changed",
			Detail: "No update can change these fields, so the apply of these deployments fails:" + lines + "\n\n" + ways,
		}
	}
	replaced := report.Message{
		Severity: report.Warning, Summary: "Target all: objects are deleted and created again",
		Detail: "No update can change these fields, and helm.force or correct_drift.force is set:\n  - " + job + ": spec.one, spec.two: on a/web" +
			"\n\nNo other object is deleted. The pods of a StatefulSet stay, unless its selector changes.",
	}
	tests := map[string]struct {
		changes []preview.ImmutableChange
		want    []report.Message
	}{
		"none":         {},
		"two clusters": {changes: []preview.ImmutableChange{change("a", job, false), change("b", job, false)}, want: []report.Message{refused("\n  - "+job+": spec.one, spec.two: on a/web, b/web", forced)}},
		"a claim":      {changes: []preview.ImmutableChange{change("a", claim, false)}, want: []report.Message{refused("\n  - "+claim+": spec.one, spec.two: on a/web", restored+never)}},
		"both": {
			changes: []preview.ImmutableChange{change("a", job, true), change("a", claim, false)},
			want:    []report.Message{refused("\n  - "+claim+": spec.one, spec.two: on a/web", restored+never), replaced},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, report.Immutable("all", test.changes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
