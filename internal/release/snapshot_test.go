package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// The methods of Snapshot that return releases by their owner or target.
func TestOwnershipInASnapshot(t *testing.T) {
	t.Parallel()
	const long = "an owner whose name is no legal value of a label!"
	proof := release.Proof{Key: "secret", UID: "uid"}
	observed := func(namespace, name string, mark release.Mark) release.Observed {
		mark.Revision = 2
		made := release.Observed{Release: name, Namespace: namespace, Revision: 2, Status: release.StatusDeployed, Mark: mark}
		made.MAC = proof.OfLabels(made)
		if mark.Instance != "i" {
			made.MAC = ""
		}
		return made
	}
	byHand := observed("ns", "by-hand", release.NewMark("o", "t", "i", "web", "d"))
	byHand.Revision++
	forged := observed("ns", "forged", release.NewMark("o", "t", "i", "web", "d"))
	forged.MAC = ""
	gone := observed("ns", "gone", release.NewMark("o", "t", "i", "web", "d"))
	gone.Status = release.StatusUninstalled
	snapshot := release.Snapshot{Releases: map[string]release.Observed{}}
	for _, there := range []release.Observed{
		observed("ns", "own", release.NewMark("o", "t", "i", "web", "d")),
		observed("a", "own-db", release.NewMark("o", "t", "i", "db", "d")),
		observed("ns", "former", release.NewMark("o", "former", "i", "web", "d")),
		forged,
		observed("ns", "lost", release.NewMark("o", "t", "j", "web", "d")),
		observed("ns", "other-target", release.NewMark("o", "u", "j", "web", "d")),
		observed("ns", "other-owner", release.NewMark("p", "t", "i2", "web", "d")),
		observed("ns", "hashed", release.NewMark(long, long, "i3", long, "d")),
		observed("ns", "helm", release.Mark{}),
		byHand, gone,
	} {
		snapshot.Releases[release.Key(there.Namespace, there.Release)] = there
	}
	own := release.Claimant{Mark: release.NewMark("o", "t", "i", "", ""), Proof: proof}
	tests := map[string]struct {
		got  []release.Observed
		want []string
	}{
		"a bundle of an owner":                {snapshot.Of("o", "web"), []string{"ns/by-hand", "ns/forged", "ns/former", "ns/lost", "ns/other-target", "ns/own"}},
		"a bundle with a name that is long":   {snapshot.Of(long, long), []string{"ns/hashed"}},
		"a bundle of nobody":                  {snapshot.Of("", "web"), nil},
		"a target":                            {snapshot.OfTarget("o", "t"), []string{"a/own-db", "ns/by-hand", "ns/forged", "ns/lost", "ns/own"}},
		"a target with a name that is long":   {snapshot.OfTarget(long, long), []string{"ns/hashed"}},
		"a target of nobody":                  {snapshot.OfTarget("", ""), nil},
		"its own, whatever its name was":      {snapshot.Owned(own, release.Self), []string{"a/own-db", "ns/former", "ns/own"}},
		"of its name, which it does not know": {snapshot.Owned(own, release.SameName), []string{"ns/forged", "ns/lost"}},
		"changed by another tool":             {snapshot.Owned(own, release.OtherTool), []string{"ns/by-hand"}},
		"of nobody":                           {snapshot.Owned(own, release.Unmarked), []string{"ns/helm"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, observed := range test.got {
				got = append(got, release.Key(observed.Namespace, observed.Release))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnershipIsByTarget(t *testing.T) {
	t.Parallel()
	for ownership, want := range map[release.Ownership]bool{
		release.Unmarked: false, release.OtherTool: false, release.OtherOwner: true, release.OtherTarget: true,
		release.SameName: true, release.SameKey: true, release.Self: true,
	} {
		if got := ownership.IsByTarget(); got != want {
			t.Errorf("%d: %t, want %t", ownership, got, want)
		}
	}
}
