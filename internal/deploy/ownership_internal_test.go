package deploy

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// The record of a release and the id in state decide who has the release.
func TestOwnershipOfHolder(t *testing.T) {
	t.Parallel()
	marked := func(owner, target, instance, key string) release.Observed {
		mark := release.NewMark(owner, target, instance, "web", "d")
		mark.AdoptionKey, mark.Revision = key, 2
		return release.Observed{Release: "web", Namespace: "ns", Revision: 2, Status: release.StatusDeployed, Mark: mark}
	}
	byHand := marked("o", "t", "i", "k")
	byHand.Revision++
	tests := map[string]struct {
		observed release.Observed
		knownAs  string
		want     release.Ownership
	}{
		"its own":                        {observed: marked("o", "t", "i", ""), want: release.Self},
		"its own, as state knows it":     {observed: marked("o", "t", "i", ""), knownAs: "i", want: release.Self},
		"imported":                       {observed: marked("o", "t", "imported", ""), knownAs: "imported", want: release.Self},
		"imported, and not in state":     {observed: marked("o", "t", "imported", ""), want: release.SameName},
		"written after its import":       {observed: marked("o", "t", "i", ""), knownAs: "imported", want: release.Self},
		"taken by an instance since":     {observed: marked("o", "t", "j", ""), knownAs: "i", want: release.SameName},
		"with its adoption key":          {observed: marked("o", "u", "j", "k"), want: release.SameKey},
		"of another target":              {observed: marked("o", "u", "j", ""), want: release.OtherTarget},
		"of another owner":               {observed: marked("p", "t", "j", "k"), want: release.OtherOwner},
		"its own, and changed by hand":   {observed: byHand, knownAs: "i", want: release.OtherTool},
		"of plain Helm":                  {observed: release.Observed{Revision: 2}, knownAs: "i", want: release.Unmarked},
		"of an id that state has lacked": {observed: marked("o", "t", "", ""), want: release.SameName},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			identity := TargetIdentity{Owner: "o", Target: "t", Instance: "i", AdoptionKey: "k"}
			if got := identity.ownership(test.observed, release.Known{Instance: test.knownAs}); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
