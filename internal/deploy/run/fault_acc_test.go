package run_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// If Helm or an API server cannot process a deployment, only that deployment fails, on every
// cluster.
func TestAccHelmFaultCostsOneDeployment(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]struct {
		files []bundle.File
		want  string
	}{
		"a template that panics": {
			files: []bundle.File{
				{Name: "Chart.yaml", Content: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
				{Name: "templates/a.yaml", Content: []byte("x: {{ regexFind \"(\" \"x\" }}\n")},
			},
			want: "regex",
		},
		"a record that is too large": {files: incompressible(2, 600_000), want: "Too long"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := "fault-" + bundle.Name(name)
			makeNamespace(t, env, namespace)
			of := func(cluster, name string, files []bundle.File) target.Deployment {
				d := deployment(cluster, name, "v1-0123456789abcdef0123456789abcdef")
				d.Namespace = namespace
				d.Bundle = &bundle.Bundle{Name: name, Content: "v1-" + namespace + name, Files: files}
				return d
			}
			asked := request(nil)
			asked.Settings.Timeout = 20 * time.Second
			var fails []string
			for _, cluster := range env.Contexts()[:2] {
				asked.Write = append(asked.Write, of(cluster, "web", test.files), of(cluster, "other", []bundle.File{
					{Name: "a.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")},
				}))
				fails = append(fails, cluster+"/web installing")
			}
			outcome := run.New(realClusters(env), 4).Apply(t.Context(), asked)
			if diff := cmp.Diff(fails, failed(outcome.Failures)); diff != "" {
				t.Fatalf("failures (-want +got):\n%s\n%v", diff, outcome.Failures)
			}
			for _, failure := range outcome.Failures {
				if !strings.Contains(failure.Err.Error(), test.want) {
					t.Errorf("error = %.500v, want one with %q", failure.Err, test.want)
				}
			}
			if len(outcome.Records) != 2 {
				t.Errorf("records: %v", outcome.Records)
			}
		})
	}
}

// incompressible returns config maps whose text can hardly be compressed.
func incompressible(count, size int) []bundle.File {
	chance := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // noise
	files := make([]bundle.File, count)
	for i := range files {
		noise := make([]byte, size/2)
		for j := range noise {
			noise[j] = byte(chance.UintN(256)) //nolint:gosec // fits
		}
		files[i] = bundle.File{
			Name:    fmt.Sprintf("%d.yaml", i),
			Content: fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: noise%d}\ndata: {noise: %s}\n", i, hex.EncodeToString(noise)),
		}
	}
	return files
}
