package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

func engineCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("engine", flag.ContinueOnError)
	counts := flags.String("entries", "30,100,300", "`numbers` of simulated clusters, separated by commas")
	bundles := flags.Int("bundles", 5, "how many `bundles` each gets")
	out := flags.String("out", page, "`file` for the report")
	if err := flags.Parse(args); err != nil {
		return err
	}
	settings := scaleSettings{bundles: *bundles, raw: engineRaw, command: fmt.Sprintf("make bench-scale ENGINE=fleet ENTRIES=%s BUNDLES=%d", *counts, *bundles)}
	var err error
	if settings.entries, err = numbers(*counts); err != nil {
		return err
	}
	if err := runEngine(ctx, settings); err != nil {
		return err
	}
	return report(*out)
}

// engineRun measures the provider with a real Fleet and a growing number of simulated clusters.
type engineRun struct {
	settings  scaleSettings
	dir       string
	here      machine
	terraform terraform
	result    engineResult
}

func runEngine(ctx context.Context, settings scaleSettings) (err error) {
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
	r := &engineRun{settings: settings, dir: dir, here: here, terraform: terraform{cli: cli, address: fleetAddress, bin: bin}}
	r.result.Bundles = settings.bundles
	for _, count := range settings.entries {
		if err := r.grow(ctx, count); err != nil {
			return fmt.Errorf("%d clusters: %w", count, err)
		}
	}
	return nil
}

// describe describes the run once, with the first Fleet that runs.
func (r *engineRun) describe(ctx context.Context, fleet *testenv.Fleet) (err error) {
	if r.result.Run.Date != "" {
		return nil
	}
	if r.result.Run, err = describe(ctx, r.here, fleet.Management(), r.terraform.cli, r.settings.command); err != nil {
		return err
	}
	version, err := output(ctx, "go", "-C", "internal/testenv/fleet", "list", "-m", "-f", "{{.Version}}", "github.com/rancher/fleet")
	r.result.Run.Versions["Rancher Fleet"] = version
	return err
}

// grow runs all steps with this number of clusters, in a Fleet of their own.
func (r *engineRun) grow(ctx context.Context, count int) (err error) {
	fleet, err := testenv.StartFleet(ctx, testenv.FleetOptions{Log: progress})
	if err != nil {
		return fmt.Errorf("starting Fleet: %w", err)
	}
	defer func() { err = errors.Join(err, fleet.Stop(context.WithoutCancel(ctx))) }()
	if err := r.describe(ctx, fleet); err != nil {
		return err
	}
	simulation, err := fleet.Simulate(ctx, simulatedClusters(count))
	if err != nil {
		return fmt.Errorf("simulating clusters: %w", err)
	}
	defer simulation.Stop()
	t := task{dir: filepath.Join(r.dir, fmt.Sprint(count))}
	if err := os.MkdirAll(t.dir, 0o750); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	counter, err := countRequests(fleet, t.dir)
	if err != nil {
		return err
	}
	defer counter.proxy.Close()
	t.kubeconfig = counter.kubeconfig
	looker, err := newFleetClient(fleet)
	if err != nil {
		return err
	}
	measured := &engineSteps{engineRun: r, task: t, count: count, simulation: simulation, counter: counter, looker: looker}
	return measured.all(ctx)
}

// simulatedClusters returns clusters that differ in a label, which is in the values of each.
func simulatedClusters(count int) []testenv.FleetCluster {
	all := make([]testenv.FleetCluster, count)
	for i := range all {
		name := fmt.Sprintf("k%03d", i)
		all[i] = testenv.FleetCluster{Name: name, Labels: map[string]string{"place": "place-" + name}}
	}
	return all
}

// engineSteps are the steps with one number of clusters.
type engineSteps struct {
	*engineRun

	task       task
	count      int
	simulation *testenv.Simulation
	counter    *requestCounter
	looker     fleetClient
	// before are the deployments after the previous step.
	before map[string]string
}

func (e *engineSteps) all(ctx context.Context) error {
	for _, s := range scaleSteps() {
		options := fmt.Sprintf("  values: {value: %s, place: \"${ .ClusterLabels.place }\"}\ndefaultNamespace: bench\n", s.value)
		if err := writeFiles(e.task.charts(), chartFiles(e.settings.bundles, options)); err != nil {
			return err
		}
		if err := e.measure(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (e *engineSteps) measure(ctx context.Context, s scaleStep) error {
	prepared, err := e.terraform.commands(e.task, nothing, engineConfiguration(e.task), map[string]any{})
	if err != nil {
		return err
	}
	prepared[0].args = slices.Concat([]string{e.terraform.cli}, s.args[:1], []string{"-no-color", "-input=false"}, s.args[1:])
	e.counter.start()
	used, err := measure(ctx, prepared)
	if err != nil {
		return err
	}
	requests, firstWrite := e.counter.counted()
	one := engineSample{Clusters: e.count, Step: s.name, Usage: used, Requests: requests}
	if !firstWrite.IsZero() {
		one.Waiting = max(0, e.simulation.Last().Sub(firstWrite).Seconds())
	}
	if err := e.check(ctx, s); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	progress("%d clusters: %-26s %7.2f s, provider %6.2f s CPU, %4d MB, %d requests, %.2f s of waiting for Fleet", e.count, s.name,
		used.Seconds, used.Provider.CPU, used.Provider.Peak/megabyte, one.requests(), one.Waiting)
	e.result.Samples = append(e.result.Samples, one)
	// Save each result at once: a later failure then loses nothing.
	return save(e.settings.raw, e.result)
}

func engineConfiguration(t task) string {
	engine := fmt.Sprintf("  engine = { config_path = %q, config_context = %q, namespace = %q }\n", t.kubeconfig, testenv.FleetManagement, testenv.FleetNamespace)
	return fleetProvider(engine, t.charts()) + scaleTarget
}

// check compares the BundleDeployments with the expected ones after the step. A new or changed
// BundleDeployment has another deployment ID than before.
func (e *engineSteps) check(ctx context.Context, s scaleStep) error {
	found, err := e.looker.applied(ctx)
	if err != nil {
		return err
	}
	want := e.count * e.settings.bundles
	if s.gone || s.planned {
		want = 0
	}
	if len(found) != want {
		return fmt.Errorf("%d deployments instead of %d", len(found), want)
	}
	writes := s.args[0] == "apply"
	for key, id := range found {
		if changed := e.before[key] != id; changed != writes {
			return fmt.Errorf("deployment %s: changed is %t instead of %t", key, changed, writes)
		}
	}
	e.before = found
	return nil
}
