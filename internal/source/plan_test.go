package source_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// planner returns an empty store, as in another process. It reads no charts.
func planner(t *testing.T) *source.Store {
	t.Helper()
	return newStoreWith(t, source.Config{Describe: func(b *bundle.Bundle) (chart, version string, err error) { return b.Name, "0.0.0", nil }})
}

// A branch that was only resolved now may have another commit at the apply, unless Terraform keeps
// what the plan has found. A stored commit, or a commit in the configuration, does not change.
func TestPlanPinsCommits(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	first := commit(t, server, apps(1))
	head := commit(t, server, apps(2))
	tests := map[string]struct {
		ref    source.Ref
		stored string
		kept   bool
		want   string
		pinned bool
	}{
		"a branch":                        {want: head},
		"a branch of a plan that is kept": {kept: true, want: head, pinned: true},
		"a branch that is known":          {stored: first, want: first, pinned: true},
		"a commit":                        {ref: source.Ref{Revision: first}, want: first, pinned: true},
		"a commit, and another is known":  {ref: source.Ref{Revision: first}, stored: head, want: first, pinned: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := source.Request{Spec: source.Spec{Read: readApps()}, Git: source.GitSource{Repo: server.URL("fleet"), Ref: test.ref}, Kept: test.kept}
			planned, err := planner(t).Plan(t.Context(), r, test.stored)
			if err != nil {
				t.Fatal(err)
			}
			if planned.Commit != test.want || planned.Pinned != test.pinned || !planned.Changed || len(planned.Elements) != 2 {
				t.Errorf("planned %d bundles at %s, pinned %t", len(planned.Elements), planned.Commit, planned.Pinned)
			}
			for name, element := range planned.Elements {
				if (element.Descriptor != "") != test.pinned {
					t.Errorf("the descriptor of %s is %q", name, element.Descriptor)
				}
			}
			settled, err := planner(t).ResolveUnknown(t.Context(), r, maps.Clone(planned.Elements), false, test.want)
			if err != nil {
				t.Fatal(err)
			}
			for name, element := range settled.Elements {
				if element.Descriptor == "" || element.Digest != planned.Elements[name].Digest {
					t.Errorf("%s is settled as %+v", name, element)
				}
			}
		})
	}
}

func TestPlanComparesWithPrior(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, apps(1))
	r := source.Request{Spec: source.Spec{Directory: dir, Read: readApps()}}
	first, err := planner(t).Plan(t.Context(), r, "")
	if err != nil {
		t.Fatal(err)
	}
	r.Prior, r.Known = first.Elements, first.Elements
	same, err := planner(t).Plan(t.Context(), r, "")
	if err != nil || same.Changed {
		t.Errorf("the same files: changed %t, %v", same.Changed, err)
	}
	if diff := cmp.Diff(first.Elements, same.Elements); diff != "" {
		t.Errorf("the same files (-first +second):\n%s", diff)
	}
	writeFiles(t, dir, apps(2))
	other, err := planner(t).Plan(t.Context(), r, "")
	if err != nil || !other.Changed {
		t.Fatalf("other files: changed %t, %v", other.Changed, err)
	}
	names := slices.Sorted(maps.Keys(other.Elements))
	if other.Elements[names[0]] != first.Elements[names[0]] || other.Elements[names[1]] == first.Elements[names[1]] {
		t.Errorf("only %s changed, got %+v", names[1], other.Elements)
	}
	// Bundles that the plan left unknown must be the same as at the plan.
	open := maps.Clone(first.Elements)
	left := open[names[1]]
	left.Descriptor = ""
	open[names[1]] = left
	_, err = planner(t).ResolveUnknown(t.Context(), r, open, false, "")
	if wrong, ok := errors.AsType[*source.ElementError](err); !ok || wrong.Problem != source.ChangedSincePlan || wrong.Bundle != names[1] {
		t.Errorf("settling a bundle that has changed: %v", err)
	}
}
