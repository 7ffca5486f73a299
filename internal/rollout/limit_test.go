package rollout

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	number := func(n int) *fleetyaml.Count { return &fleetyaml.Count{Number: n} }
	text := func(s string) *fleetyaml.Count { return &fleetyaml.Count{Text: s} }
	tests := map[string]struct {
		total  int
		counts []*fleetyaml.Count
		want   int
		wrong  bool
	}{
		"no clusters":                  {total: 0, counts: []*fleetyaml.Count{number(0)}, want: 1},
		"nothing given":                {total: 7, want: 7},
		"a number":                     {total: 7, counts: []*fleetyaml.Count{number(3)}, want: 3},
		"none":                         {total: 7, counts: []*fleetyaml.Count{number(0)}, want: 0},
		"more than there are":          {total: 7, counts: []*fleetyaml.Count{number(9)}, want: 7},
		"less than none":               {total: 7, counts: []*fleetyaml.Count{number(-1)}, want: 0},
		"the first that is given":      {total: 7, counts: []*fleetyaml.Count{nil, number(2), number(3)}, want: 2},
		"a number as text":             {total: 7, counts: []*fleetyaml.Count{text("9")}, want: 9},
		"a percentage":                 {total: 230, counts: []*fleetyaml.Count{text("25%")}, want: 57},
		"a percentage of a percentage": {total: 1000, counts: []*fleetyaml.Count{text("0.5%")}, want: 5},
		"no percent is one":            {total: 7, counts: []*fleetyaml.Count{text("0%")}, want: 1},
		"less than no percent is one":  {total: 7, counts: []*fleetyaml.Count{text("-5%")}, want: 1},
		"little of few is one":         {total: 3, counts: []*fleetyaml.Count{text("10%")}, want: 1},
		"more than all":                {total: 7, counts: []*fleetyaml.Count{text("200%")}, want: 7},
		"zero as text":                 {total: 7, counts: []*fleetyaml.Count{text("0")}, wrong: true},
		"no number at all":             {total: 7, counts: []*fleetyaml.Count{text("NaN%")}, wrong: true},
		"words":                        {total: 7, counts: []*fleetyaml.Count{text("many")}, wrong: true},
		"a word for a percentage":      {total: 7, counts: []*fleetyaml.Count{text("some%")}, wrong: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := limit(test.total, defaultUnavailable, test.counts...)
			if (err != nil) != test.wrong || got != test.want {
				t.Errorf("got %d, %v, want %d, an error: %t", got, err, test.want, test.wrong)
			}
		})
	}
}
