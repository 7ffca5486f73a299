package acceptance_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// The provider or Terraform is killed at random requests of random changes. One apply then has the
// same result as an undisturbed one. FLEET_SOAK is the number of kills, and FLEET_SEED repeats a
// run.
func TestSoakKill(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("FLEET_SOAK"))
	if err != nil {
		t.Skip("set FLEET_SOAK to a number of kills; make soak does")
	}
	seed, err := strconv.ParseUint(os.Getenv("FLEET_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Fprintf(os.Stderr, "soak: FLEET_SEED=%d\n", seed)
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // chance that can be repeated
	o := newFaultSuite(t, 10)
	o.apply(t)
	requests := 0
	for _, proxy := range o.proxies {
		requests += proxy.Served()
	}
	struck, without := 0, ""
	for round := range times {
		value, changed := fmt.Sprintf("round %d", round), without
		if chance.IntN(3) == 0 {
			changed = []string{"", "a", "b", "c"}[chance.IntN(4)]
		}
		at := 1 + chance.IntN(requests)
		who := []victim{theProvider, theCLI}[chance.IntN(2)]
		answered := chance.IntN(2) == 0
		t.Run(fmt.Sprintf("%s at request %d without %q", who, at, changed), func(t *testing.T) {
			o.deploy(t, value, changed)
			var asked atomic.Int64
			killed := o.killAt(t, who, moment{answered: answered, is: func(*http.Request) bool { return asked.Add(1) == int64(at) }})
			output, err := o.begin(t, applying...)
			if killed() {
				struck++
			} else if err != nil {
				t.Fatalf("the apply failed by itself: %v\n%s", err, output)
			}
			o.state.expire()
			before := o.observe(t)
			o.apply(t)
			expectHealthyUntouched(t, before, o.expectWhole(t, value, changed), changed)
			o.expectEmptyPlan(t)
		})
		without = changed
		if t.Failed() {
			t.Fatalf("FLEET_SEED=%d fails in round %d", seed, round)
		}
	}
	if 2*struck < times {
		t.Errorf("only %d of %d kills struck", struck, times)
	}
	o.run(t, "destroy", "-auto-approve")
}
