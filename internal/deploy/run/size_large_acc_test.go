//go:build !race

package run_test

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// A release that is larger than a cluster can store is refused in the plan. A slightly smaller one
// is deployed.
func TestAccLargestRelease(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "largest")
	charts := &render.Charts{Sandbox: &templates.Renderer{}}
	// Random digits do not compress below half their length.
	release := func(size int) target.Deployment {
		noise := make([]byte, size/2)
		random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // content for a test
		for i := range noise {
			noise[i] = byte(random.UintN(256)) //nolint:gosec // below 256
		}
		d := o.deployment("big", "v1-"+strconv.Itoa(size), configMapFile("small"), fleetyaml.Options{})
		d.Bundle = &bundle.Bundle{Name: "big", Content: "largest " + strconv.Itoa(size), Files: []bundle.File{
			{Name: "Chart.yaml", Content: []byte("apiVersion: v2\nname: big\nversion: 1.0.0\n")},
			{Name: "templates/a.yaml", Content: []byte(configMapFile("small"))},
			{Name: "noise.txt", Content: []byte(hex.EncodeToString(noise))},
		}}
		return d
	}
	planned := func(size int) (fits bool) {
		_, err := charts.Render(t.Context(), release(size))
		tooLarge, isTooLarge := errors.AsType[*render.TooLargeError](err)
		if err != nil && !isTooLarge {
			t.Fatal(err)
		}
		if isTooLarge && (tooLarge.Bundle != "big" || tooLarge.Largest[0].Name != "noise.txt") {
			t.Errorf("got %+v", tooLarge)
		}
		return err == nil
	}
	// Find the largest size that the plan allows, to a kibibyte.
	low, high := 1<<19, 1<<22
	for high-low > 1<<10 {
		if middle := (low + high) / 2; planned(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	o.write(t, release(low))
	records, err := o.client.CoreV1().Secrets(o.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil || len(records.Items) != 1 {
		t.Fatalf("%d records, %v", len(records.Items), err)
	}
	if size := len(records.Items[0].Data["release"]); size < 1<<20-32<<10 {
		t.Errorf("the largest release that is planned has only %d bytes", size)
	}
	o.remove(t, "big")
	asked := request(nil)
	asked.Write = []target.Deployment{release(high + 64<<10)}
	if outcome := o.runner.Apply(t.Context(), asked); len(outcome.Failures) != 1 {
		t.Errorf("what the plan refuses was deployed: %v", outcome.Failures)
	}
}
