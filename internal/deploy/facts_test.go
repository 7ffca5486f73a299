package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestFactsOf(t *testing.T) {
	t.Parallel()
	asWanted := release.Facts{Known: true, SameDigest: true, SameRelease: true, Completed: true}
	with := func(change func(*release.Facts)) release.Facts {
		facts := asWanted
		change(&facts)
		return facts
	}
	missing := status.Counts{Ready: 1, Missing: 1}
	tests := map[string]struct {
		record  func(*Record)
		wanted  func(*target.Deployment)
		unknown bool
		want    release.Facts
	}{
		"as wanted":           {want: asWanted},
		"not known":           {unknown: true, want: release.Facts{OtherRecord: true}},
		"not ready":           {record: func(r *Record) { r.State = status.NotReady }, want: asWanted},
		"failed":              {record: func(r *Record) { r.State = status.ErrApplied }, want: with(func(f *release.Facts) { f.Completed = false })},
		"cut short":           {record: func(r *Record) { r.State = status.WaitApplied }, want: with(func(f *release.Facts) { f.Completed = false })},
		"another digest":      {wanted: func(d *target.Deployment) { d.Digest = "new" }, want: with(func(f *release.Facts) { f.SameDigest = false })},
		"another namespace":   {wanted: func(d *target.Deployment) { d.Namespace = "new" }, want: with(func(f *release.Facts) { f.SameRelease = false })},
		"another name":        {wanted: func(d *target.Deployment) { d.Release = "new" }, want: with(func(f *release.Facts) { f.SameRelease = false })},
		"unpinned":            {wanted: func(d *target.Deployment) { d.Unpinned = true }, want: with(func(f *release.Facts) { f.Unpinned = true })},
		"a move that failed":  {record: func(r *Record) { r.Leftovers = []release.Known{{Release: "old"}} }, want: with(func(f *release.Facts) { f.Leftovers = true })},
		"changed by somebody": {record: func(r *Record) { r.State, r.Digest = status.Modified, "" }, want: with(func(f *release.Facts) { f.SameDigest, f.OtherRecord = false, true })},
		"objects changed":     {record: func(r *Record) { r.State, r.Counts = status.Modified, missing }, want: with(func(f *release.Facts) { f.Drifted = true })},
		"drift that is only reported": {
			record: func(r *Record) { r.State, r.Counts = status.Modified, missing },
			wanted: func(d *target.Deployment) {
				d.Options.CorrectDrift = &fleetyaml.CorrectDrift{Enabled: new(false)}
			},
			want: asWanted,
		},
		"drift by other rules": {
			record: func(r *Record) { r.State, r.Counts = status.Modified, missing },
			wanted: func(d *target.Deployment) {
				d.Options.Diff = &fleetyaml.Diff{ComparePatches: []fleetyaml.ComparePatch{{Kind: "ConfigMap"}}}
			},
			want: asWanted,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := target.Deployment{Cluster: "c", Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns", Digest: "d"}
			record := Record{Release: "web", Namespace: "ns", Digest: "d", State: status.Ready}
			if test.wanted != nil {
				test.wanted(&d)
			}
			if test.record != nil {
				test.record(&record)
			}
			prior := map[Key]Record{KeyOf(d): record}
			if test.unknown {
				prior = nil
			}
			if diff := cmp.Diff(test.want, FactsOf(d, prior)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}
