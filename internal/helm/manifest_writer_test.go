package helm

import (
	"errors"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	fixedMap   = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fixed\ndata:\n  a: x\n"
	randomMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: random\ndata:\n  a: y\n"
	fixedKey   = "ConfigMap/ns/fixed"
	randomKey  = "ConfigMap/ns/random"
	otherHash  = "000000000000"
	twoObjects = fixedMap + "---\n" + randomMap
)

func TestCheckPromise(t *testing.T) {
	t.Parallel()
	d := target.Deployment{Namespace: "ns", Digest: "v1-0"}
	objects, err := manifest.Parse([]byte(twoObjects))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := manifest.List(objects, d.Namespace, d.Digest)
	if err != nil {
		t.Fatal(err)
	}
	hash := release.Rendering{Objects: listed}.Hashes()[fixedKey]
	tests := map[string]struct {
		rendered string
		promised map[string]string
		stops    bool
	}{
		"nothing promised":       {rendered: twoObjects},
		"as promised":            {rendered: twoObjects, promised: map[string]string{fixedKey: hash, randomKey: ""}},
		"known one differs":      {rendered: twoObjects, promised: map[string]string{fixedKey: otherHash, randomKey: ""}, stops: true},
		"one missing":            {rendered: fixedMap, promised: map[string]string{fixedKey: hash, randomKey: ""}, stops: true},
		"one more":               {rendered: twoObjects, promised: map[string]string{randomKey: ""}, stops: true},
		"all known, one differs": {rendered: fixedMap, promised: map[string]string{fixedKey: otherHash}, stops: true},
		"another one by its key": {rendered: twoObjects, promised: map[string]string{fixedKey: hash, "ConfigMap/ns/other": ""}, stops: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendered, err := manifest.Parse([]byte(test.rendered))
			if err != nil {
				t.Fatal(err)
			}
			err = checkPlannedObjects(rendered, d, test.promised)
			if stopped := errors.Is(err, release.ErrOtherObjects); stopped != test.stops || err != nil && !stopped {
				t.Errorf("got %v, want it to stop: %t", err, test.stops)
			}
		})
	}
}
