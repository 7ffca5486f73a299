package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// scaleSettings are the user's settings.
type scaleSettings struct {
	entries []int
	bundles int
	raw     string // path of the results
	command string
}

func scaleCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	counts := flags.String("entries", "10,20,50,100,200", "`numbers` of entries of the provider's clusters, separated by commas")
	bundles := flags.Int("bundles", 20, "how many `bundles` each gets")
	out := flags.String("out", page, "`file` for the report")
	if err := flags.Parse(args); err != nil {
		return err
	}
	settings := scaleSettings{bundles: *bundles, raw: scaleRaw, command: fmt.Sprintf("make bench-scale ENTRIES=%s BUNDLES=%d", *counts, *bundles)}
	var err error
	if settings.entries, err = numbers(*counts); err != nil {
		return err
	}
	if err := runScale(ctx, settings); err != nil {
		return err
	}
	return report(*out)
}

// A scaleRun measures the provider with a growing number of clusters.
type scaleRun struct {
	settings  scaleSettings
	dir       string
	env       *testenv.Env
	outsider  clusterClient
	terraform terraform
	result    scaleResult
}

func runScale(ctx context.Context, settings scaleSettings) (err error) {
	here := thisMachine(ctx) // Before the clusters load the machine.
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return fmt.Errorf("making a folder to work in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cli, err := testenv.TerraformCLI(ctx, progress)
	if err != nil {
		return err
	}
	bin, err := filepath.Abs("bin")
	if err != nil {
		return err
	}
	env, err := testenv.Start(ctx, testenv.Options{Clusters: clusterCount, Log: progress})
	if err != nil {
		return fmt.Errorf("starting the clusters: %w", err)
	}
	defer func() { err = errors.Join(err, env.Stop(context.WithoutCancel(ctx))) }()
	g := &scaleRun{settings: settings, dir: dir, env: env, terraform: terraform{cli: cli, address: fleetAddress, bin: bin}}
	if g.outsider, err = newClusterClient(env.Kubeconfig(), env.Contexts()); err != nil {
		return err
	}
	g.result.Bundles = settings.bundles
	if g.result.Run, err = describe(ctx, here, env.Cluster(0), cli, settings.command); err != nil {
		return err
	}
	for _, count := range settings.entries {
		if err := g.grow(ctx, count); err != nil {
			return fmt.Errorf("%d clusters: %w", count, err)
		}
	}
	return nil
}

// Steps whose cost for each deployment has a limit, besides nothingPlanned.
const (
	createApplied = "create"
	changeApplied = "plan and apply of a change"
	destroyed     = "destroy"
)

// scaleStep is a command with its name on the page.
type scaleStep struct {
	name  string
	args  []string
	value string
	// gone is true if nothing exists afterwards; planned is true if nothing was changed.
	gone, planned bool
}

func scaleSteps() []scaleStep {
	const one, two = "one", "two"
	return []scaleStep{
		{name: "plan of the create", args: []string{"plan", "-out=tfplan"}, value: one, planned: true},
		{name: createApplied, args: []string{"apply", "tfplan"}, value: one},
		{name: nothingPlanned, args: []string{"plan", "-detailed-exitcode"}, value: one},
		{name: changeApplied, args: []string{"apply", "-auto-approve"}, value: two},
		{name: destroyed, args: []string{"destroy", "-auto-approve"}, value: two, gone: true},
	}
}

// grow runs all steps with this number of entries.
func (g *scaleRun) grow(ctx context.Context, count int) (err error) {
	t := task{dir: filepath.Join(g.dir, fmt.Sprint(count)), contexts: g.env.Contexts(), kubeconfig: g.env.Kubeconfig()}
	all := entriesOf(count, t.contexts)
	namespaces := map[string][]string{}
	for _, e := range all {
		namespaces[e.context] = append(namespaces[e.context], e.namespace)
	}
	defer func() { err = errors.Join(err, g.outsider.clear(context.WithoutCancel(ctx), namespaces)) }()
	for _, s := range scaleSteps() {
		if err := writeFiles(t.charts(), scaleCharts(g.settings.bundles, all, s.value)); err != nil {
			return err
		}
		prepared, err := g.terraform.commands(t, nothing, scaleConfiguration(t, all), map[string]any{})
		if err != nil {
			return err
		}
		prepared[0].args = slices.Concat([]string{g.terraform.cli}, s.args[:1], []string{"-no-color", "-input=false"}, s.args[1:])
		used, err := measure(ctx, prepared)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := g.check(ctx, namespaces, s); err != nil {
			return fmt.Errorf("after %s: %w", s.name, err)
		}
		progress("%d clusters: %-26s %7.2f s, %7.2f s CPU, provider %4d MB", count, s.name, used.Seconds, used.CPU, used.Provider.Peak/megabyte)
		g.result.Samples = append(g.result.Samples, scaleSample{Entries: count, Step: s.name, Usage: used})
		// Save each result at once: a later failure then loses nothing.
		if err := save(g.settings.raw, g.result); err != nil {
			return err
		}
	}
	return nil
}

// An entry is one of the provider's clusters: a namespace of a control plane.
type entry struct{ name, context, namespace string }

func entriesOf(count int, contexts []string) []entry {
	all := make([]entry, count)
	for i := range all {
		name := fmt.Sprintf("k%03d", i)
		all[i] = entry{name: name, context: contexts[i%len(contexts)], namespace: "bench-" + name}
	}
	return all
}

// scaleObjects is the number of objects of each bundle.
const scaleObjects = 4

// scaleCharts returns the files of all bundles. None has pods, so the measured time is the
// provider's.
func scaleCharts(bundles int, all []entry, value string) map[string]string {
	var places strings.Builder
	for _, e := range all {
		fmt.Fprintf(&places, "- {clusterName: %s, namespace: %s}\n", e.name, e.namespace)
	}
	return chartFiles(bundles, fmt.Sprintf("  values: {value: %s}\ntargetCustomizations:\n%s", value, &places))
}

// chartFiles returns the files of bundles, with options after the name of their release.
func chartFiles(bundles int, options string) map[string]string {
	files := map[string]string{}
	for i := range bundles {
		name := fmt.Sprintf("%s%02d", namePrefix, i+1)
		files[name+"/fleet.yaml"] = fmt.Sprintf("helm:\n  releaseName: %s\n%s", name, options)
		files[name+"/Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 1.0.0\n", name)
		for k := range scaleObjects {
			files[fmt.Sprintf("%s/templates/%d.yaml", name, k)] = fmt.Sprintf(
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {value: %q}\n", name, k, valueCall)
		}
	}
	return files
}

const scaleTarget = `
resource "fleet_cluster_target" "all" {
  name    = "all"
  bundles = [fleet_gitrepo.all.bundles]
  targets = [{ all = true }]
}
`

func scaleConfiguration(t task, all []entry) string {
	var clusters strings.Builder
	for _, e := range all {
		fmt.Fprintf(&clusters, "    %s = { config_path = %q, config_context = %q, namespaces = [%q] }\n", e.name, t.kubeconfig, e.context, e.namespace)
	}
	return fleetProvider(clustersBlock(clusters.String()), t.charts()) + scaleTarget
}

// check checks the content of every namespace.
func (g *scaleRun) check(ctx context.Context, namespaces map[string][]string, s scaleStep) error {
	for _, name := range g.env.Contexts() {
		for _, namespace := range namespaces[name] {
			found, err := read(ctx, g.outsider.clients[name], namespace)
			if err != nil {
				return fmt.Errorf("reading what cluster %s holds: %w", name, err)
			}
			if s.gone || s.planned {
				err = found.expectNothing()
			} else {
				err = found.expectWritten(work{Releases: g.settings.bundles, Objects: scaleObjects}, s.value)
			}
			if err != nil {
				return fmt.Errorf("namespace %s of cluster %s: %w", namespace, name, err)
			}
		}
	}
	return nil
}
