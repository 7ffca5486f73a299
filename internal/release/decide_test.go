package release_test

import (
	"errors"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	wanted := release.Mark{Owner: "o", Target: "t", Instance: "i", Bundle: "b", Digest: "d"}
	marked := func(change func(*release.Observed)) *release.Observed {
		observed := release.Observed{Release: "r", Namespace: "ns", Revision: 3, Status: release.StatusDeployed, Mark: wanted}
		observed.Mark.Revision = 3
		change(&observed)
		return &observed
	}
	tests := map[string]struct {
		observed      *release.Observed
		takeOwnership bool
		want          release.Action
		foreign       bool
	}{
		"nothing there":             {observed: nil, want: release.Install},
		"as wanted":                 {observed: marked(func(*release.Observed) {}), want: release.Keep},
		"kept history of a removal": {observed: marked(func(o *release.Observed) { o.Status = release.StatusUninstalled }), want: release.Install},
		"another digest":            {observed: marked(func(o *release.Observed) { o.Mark.Digest = "x" }), want: release.Upgrade},
		"upgraded or rolled back by somebody": {
			observed: marked(func(o *release.Observed) { o.Revision = 4 }), want: release.Upgrade,
		},
		"failed":              {observed: marked(func(o *release.Observed) { o.Status = release.StatusFailed }), want: release.Upgrade},
		"superseded":          {observed: marked(func(o *release.Observed) { o.Status = release.StatusSuperseded }), want: release.Upgrade},
		"install cut short":   {observed: marked(func(o *release.Observed) { o.Status = release.StatusPendingInstall }), want: release.Recover},
		"upgrade cut short":   {observed: marked(func(o *release.Observed) { o.Status = release.StatusPendingUpgrade }), want: release.Recover},
		"rollback cut short":  {observed: marked(func(o *release.Observed) { o.Status = release.StatusPendingRollback }), want: release.Recover},
		"uninstall cut short": {observed: marked(func(o *release.Observed) { o.Status = release.StatusUninstalling }), want: release.Recover},
		"state unknown":       {observed: marked(func(o *release.Observed) { o.Status = release.StatusUnknown }), want: release.Recover},
		"another instance of this target": {
			observed: marked(func(o *release.Observed) { o.Mark.Instance = "old" }), want: release.Adopt,
		},
		"another instance with another digest": {
			observed: marked(func(o *release.Observed) { o.Mark.Instance, o.Mark.Digest = "old", "x" }), want: release.Upgrade,
		},
		"this instance under a former name": {
			observed: marked(func(o *release.Observed) { o.Mark.Target = "x" }), want: release.Keep,
		},
		"another target": {observed: marked(func(o *release.Observed) { o.Mark.Target, o.Mark.Instance = "x", "j" }), foreign: true},
		"another owner":  {observed: marked(func(o *release.Observed) { o.Mark.Owner, o.Mark.Instance = "x", "j" }), foreign: true},
		"plain Helm":     {observed: marked(func(o *release.Observed) { o.Mark = release.Mark{} }), foreign: true},
		"another's interrupted operation": {
			observed: marked(func(o *release.Observed) {
				o.Mark.Owner, o.Mark.Instance, o.Status = "x", "j", release.StatusPendingUpgrade
			}), foreign: true,
		},
		"another owner, taken over": {
			observed: marked(func(o *release.Observed) { o.Mark.Owner, o.Mark.Instance = "x", "j" }), takeOwnership: true, want: release.Upgrade,
		},
		"plain Helm, taken over": {
			observed: marked(func(o *release.Observed) { o.Mark = release.Mark{} }), takeOwnership: true, want: release.Upgrade,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := release.Decide(wanted, test.observed, test.takeOwnership)
			var foreign *release.ForeignError
			if errors.As(err, &foreign) != test.foreign {
				t.Fatalf("error = %v, want a ForeignError: %t", err, test.foreign)
			}
			if err == nil && got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestDecideRemoval(t *testing.T) {
	t.Parallel()
	own := release.Mark{Owner: "o", Target: "t", Instance: "i"}
	tests := map[string]struct {
		observed *release.Observed
		want     release.Action
	}{
		"own":                  {observed: &release.Observed{Mark: own}, want: release.Uninstall},
		"nothing there":        {observed: nil, want: release.Keep},
		"taken by an instance": {observed: &release.Observed{Mark: release.Mark{Owner: "o", Target: "t", Instance: "new"}}, want: release.Keep},
		"under a former name":  {observed: &release.Observed{Mark: release.Mark{Owner: "o", Target: "former", Instance: "i"}}, want: release.Uninstall},
		"of plain Helm":        {observed: &release.Observed{}, want: release.Keep},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := release.DecideRemoval(own, test.observed); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestObjectKey(t *testing.T) {
	t.Parallel()
	tests := map[string]release.Object{
		"apps/Deployment/web/nginx": {Group: "apps", Kind: "Deployment", Namespace: "web", Name: "nginx"},
		"Service/web/nginx":         {Kind: "Service", Namespace: "web", Name: "nginx"},
		"Namespace/web":             {Kind: "Namespace", Name: "web"},
	}
	for want, object := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := object.Key(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestHashesCountEqualKeysTogether(t *testing.T) {
	t.Parallel()
	twice := release.Rendering{Objects: []release.Object{{Kind: "ConfigMap", Name: "a", Hash: "1"}, {Kind: "ConfigMap", Name: "a", Hash: "2"}}}
	once := release.Rendering{Objects: twice.Objects[:1]}
	if twice.Hashes()["ConfigMap/a"] == once.Hashes()["ConfigMap/a"] {
		t.Error("a second object with the same key does not show in the hash")
	}
}
