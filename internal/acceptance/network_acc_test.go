package acceptance_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// An apply over a bad network has the same result as over a good one. Otherwise it reports the
// error and leaves the rest to the next apply. Nothing is lost.
func TestAccBadNetwork(t *testing.T) {
	t.Parallel()
	outage := 5 * time.Second
	if testenv.Soaking() {
		outage = 30 * time.Second
	}
	// For a number of requests in the middle of the apply, each server responds with an error code.
	burst := func(code int) func(t *testing.T, o *faultSuite) {
		return func(_ *testing.T, o *faultSuite) {
			for _, proxy := range o.proxies {
				var asked atomic.Int64
				proxy.Set(func(*http.Request) faulttest.Fault {
					if n := asked.Add(1); n > 20 && n <= 50 {
						return faulttest.Fault{Status: code}
					}
					return faulttest.Fault{}
				})
			}
		}
	}
	network := func(d faulttest.Disturbance) func(t *testing.T, o *faultSuite) {
		return func(t *testing.T, o *faultSuite) { t.Helper(); o.disturb(t, d) }
	}
	tests := map[string]struct {
		spoil func(t *testing.T, o *faultSuite)
	}{
		"latency of 200 ms": {spoil: network(faulttest.Disturbance{Latency: 200 * time.Millisecond})},
		"300 kB a second":   {spoil: network(faulttest.Disturbance{BytesPerSecond: 300_000})},
		"1 % resets":        {spoil: network(faulttest.Disturbance{Resets: 0.01})},
		"a burst of 429":    {spoil: burst(http.StatusTooManyRequests)},
		"a burst of 500":    {spoil: burst(http.StatusInternalServerError)},
		"an outage": {spoil: func(t *testing.T, o *faultSuite) {
			t.Helper()
			down, up := faulttest.Disturbance{Down: true}, faulttest.Disturbance{}
			var asked atomic.Int64
			o.proxies[1].Set(func(r *http.Request) faulttest.Fault {
				// In the middle of the first writes.
				if faulttest.IsWrite(r) && asked.Add(1) == 10 {
					if err := o.proxies[1].Disturb(down); err != nil {
						t.Error(err)
					}
					time.AfterFunc(outage, func() {
						if err := o.proxies[1].Disturb(up); err != nil {
							t.Error(err)
						}
					})
				}
				return faulttest.Fault{}
			})
		}},
	}
	// A slow line behaves like one with latency, and a busy server like one that fails.
	long := []string{"300 kB a second", "a burst of 429"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(long, name) {
				testenv.RequireSoak(t)
			}
			o := newFaultSuite(t, 5)
			for _, step := range []string{"install", "upgrade"} {
				o.deploy(t, step)
				before := o.observe(t)
				test.spoil(t, o)
				began := time.Now()
				output, err := o.try(t, applying...)
				t.Logf("%s: %v after %v", step, err, time.Since(began).Round(100*time.Millisecond))
				o.set(nil)
				o.disturb(t, faulttest.Disturbance{})
				if err != nil {
					_, applied, _ := strings.Cut(output, "\nPlan: ")
					t.Errorf("the apply did not come through: %v\nPlan: %s", err, applied)
				}
				expectSameObjects(t, before, o.expectWhole(t, step))
				o.expectEmptyPlan(t)
			}
			o.disturb(t, faulttest.Disturbance{})
			o.run(t, "destroy", "-auto-approve")
			for i := range o.proxies {
				o.expectNothing(t, i)
			}
		})
	}
}
