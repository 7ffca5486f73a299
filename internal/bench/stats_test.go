package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values []float64
		want   spread
		there  bool
	}{
		"nothing": {},
		"one":     {values: []float64{3}, want: spread{Median: 3, Min: 3, Max: 3}, there: true},
		"odd":     {values: []float64{9, 1, 2}, want: spread{Median: 2, Min: 1, Max: 9}, there: true},
		"even":    {values: []float64{4, 1, 2, 9}, want: spread{Median: 3, Min: 1, Max: 9}, there: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, there := spreadOf(test.values)
			if diff := cmp.Diff(test.want, got); diff != "" || there != test.there {
				t.Errorf("there: %t, (-want +got):\n%s", there, diff)
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		x, y  []float64
		want  line
		there bool
	}{
		"too few points": {x: []float64{1, 2}, y: []float64{1, 2}},
		"not pairs":      {x: []float64{1, 2, 3}, y: []float64{1, 2}},
		"a line":         {x: []float64{10, 20, 50}, y: []float64{120, 140, 200}, want: line{Slope: 2, Intercept: 100, Fit: 1}, there: true},
		"no growth":      {x: []float64{0, 1, 2, 3}, y: []float64{1, -1, -1, 1}, want: line{}, there: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, there := lineOf(test.x, test.y)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" || there != test.there {
				t.Errorf("there: %t, (-want +got):\n%s", there, diff)
			}
		})
	}
}
