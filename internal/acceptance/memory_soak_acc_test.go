package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// peaks is the most memory that processes of the provider have had, in bytes.
type peaks struct {
	mu   sync.Mutex
	most int64
}

// watch reads the memory of the processes of the provider until done is called. done returns the
// most memory that one of them had.
func (p *peaks) watch(t *testing.T, o *faultSuite) (done func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			for _, process := range o.started(t) {
				p.note(process.Pid)
			}
		}
	})
	return func() int64 {
		cancel()
		looking.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.most
	}
}

// note reads the high-water mark of a process, which may have ended.
func (p *peaks) note(pid int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "VmHWM:" {
			continue
		}
		if kilobytes, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			p.mu.Lock()
			p.most = max(p.most, kilobytes<<10)
			p.mu.Unlock()
		}
	}
}

// A hundred clusters with twenty charts each are planned and applied in 512 MB.
func TestSoakMemory(t *testing.T) {
	const clusters, bundles, limit = 100, 20, 512 << 20
	if !testenv.Soaking() {
		t.Skip("takes minutes; make soak runs it")
	}
	if _, err := os.Stat("/proc/self/status"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("only Linux tells how much memory another process had")
	}
	o := newFaultSuite(t, 0)
	o.workspace.env = append(o.workspace.env, "GOGC=") // The provider decides when to collect garbage.
	o.patience = 20 * time.Minute
	var entries []entry
	for k := range clusters {
		i := k % len(o.proxies)
		cluster := o.env0().Cluster(i)
		entries = append(entries, entry{name: fmt.Sprintf("k%03d", k), host: cluster.Host(), token: cluster.Token(), authority: cluster.CACertificate()})
		t.Cleanup(func() {
			ctx, cancel := cleanupContext(t)
			defer cancel()
			if err := o.client(t, i).CoreV1().Namespaces().Delete(ctx, fmt.Sprintf("%s-k%03d", o.namespace, k), metav1.DeleteOptions{}); err != nil {
				t.Log(err)
			}
		})
	}
	git := gittest.New(t, gittest.Options{})
	push := func(value string) {
		t.Helper()
		if _, err := git.Commit(t.Context(), "fleet", "main", "Value "+value, manyCharts(bundles, entries, o.namespace, value)); err != nil {
			t.Fatal(err)
		}
	}
	push("first")
	o.configure(t, o.clusters(entries),
		fmt.Sprintf("resource \"fleet_gitrepo\" \"all\" {\n  name = \"all\"\n  repo = %q\n  branch = \"main\"\n}\n", git.URL("fleet")),
		target("", "fleet_gitrepo.all.bundles"))
	for _, step := range []struct {
		name string
		args []string
	}{
		{name: "plan of a create", args: []string{"plan", "-input=false", "-out=tfplan"}},
		{name: "create", args: []string{"apply", "-input=false", "tfplan"}},
		{name: "plan of an update", args: []string{"plan", "-input=false", "-out=tfplan"}},
		{name: "update", args: []string{"apply", "-input=false", "tfplan"}},
		{name: "plan of nothing", args: []string{"plan", "-input=false", "-detailed-exitcode"}},
		{name: "destroy", args: []string{"destroy", "-auto-approve"}},
	} {
		if step.name == "plan of an update" {
			push("second")
		}
		began, watched := time.Now(), &peaks{}
		done := watched.watch(t, o)
		o.run(t, step.args...)
		most := done()
		fmt.Fprintf(os.Stderr, "soak: %s: %d MiB, %s\n", step.name, most>>20, time.Since(began).Round(time.Second))
		if most == 0 || most > limit {
			t.Errorf("%s: the provider had %d MiB, want at most %d", step.name, most>>20, limit>>20)
		}
	}
}

// manyCharts is a repository with charts of a typical size: some objects, many values, and texts
// that no template renders.
func manyCharts(n int, entries []entry, namespace, value string) map[string]string {
	files := map[string]string{}
	var places strings.Builder // Several entries are one cluster.
	for _, e := range entries {
		fmt.Fprintf(&places, "- {clusterName: %s, namespace: %s-%s}\n", e.name, namespace, e.name)
	}
	for i := range n {
		dir := fmt.Sprintf("chart-%02d/", i)
		files[dir+"fleet.yaml"] = "helm: {values: {value: " + value + "}}\ntargetCustomizations:\n" + places.String()
		files[dir+"Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: chart-%02d\nversion: 1.0.0\n", i)
		files[dir+"README.md"] = strings.Repeat(fmt.Sprintf("What chart %d does and how.\n", i), 2000)
		files[dir+"values.yaml"] = "value: none\n" + strings.Repeat("# A comment on values.\n", 500)
		for k := range 4 {
			name := fmt.Sprintf("c%02d-%d", i, k)
			files[fmt.Sprintf("%stemplates/%d.yaml", dir, k)] = "{{- /* " + strings.Repeat("about it ", 200) + "*/}}\n" +
				"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  labels: {chart: \"{{ .Chart.Name }}\"}\ndata:\n  key: \"{{ .Values.value }}\"\n  text: |\n" +
				strings.Repeat("    A line of configuration.\n", 80)
		}
	}
	return files
}
