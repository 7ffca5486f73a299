package deploy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

func TestSameClusters(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		uids map[string]string
		want [][]string
	}{
		"none":           {},
		"all are others": {uids: map[string]string{"a": "1", "b": "2"}},
		"two are one":    {uids: map[string]string{"b": "1", "a": "1", "c": "2"}, want: [][]string{{"a", "b"}}},
		"two pairs":      {uids: map[string]string{"a": "2", "b": "1", "c": "2", "d": "1"}, want: [][]string{{"a", "c"}, {"b", "d"}}},
		"unknown":        {uids: map[string]string{"a": "", "b": ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, deploy.SameClusters(test.uids)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
