package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A contest runs the same steps with several contenders, one after the other, several times.
type contest struct {
	settings contestSettings
	dir      string
	env      *testenv.Env
	outsider clusterClient
	// contenders are in the order of the first round.
	contenders []contender
	networks   []*network
	result     contestResult
}

// contestSettings are the user's settings.
type contestSettings struct {
	rounds     int
	works      []work
	latencies  []time.Duration
	contenders []string
	raw        string // path of the results
	command    string
	// budget is the time after which no further round of a cell begins. The first round always
	// begins.
	budget time.Duration
}

// allContenders are the names that contestSettings may choose from.
func allContenders() []string {
	return []string{"fleet", "fleet-default", "helm", "helm-provider", "floor", "floor-ready"}
}

func runContest(ctx context.Context, settings contestSettings) (result contestResult, err error) {
	here := thisMachine(ctx) // Before the clusters load the machine.
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return contestResult{}, fmt.Errorf("making a folder to work in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cli, err := testenv.TerraformCLI(ctx, progress)
	if err != nil {
		return contestResult{}, err
	}
	c := &contest{settings: settings, dir: dir}
	versions, err := c.invite(ctx, cli)
	if err != nil {
		return contestResult{}, err
	}
	if c.env, err = testenv.Start(ctx, testenv.Options{Clusters: clusterCount, Log: progress}); err != nil {
		return contestResult{}, fmt.Errorf("starting the clusters: %w", err)
	}
	defer func() { err = errors.Join(err, c.env.Stop(context.WithoutCancel(ctx))) }()
	if c.outsider, err = newClusterClient(c.env.Kubeconfig(), c.env.Contexts()); err != nil {
		return contestResult{}, err
	}
	if c.result.Run, err = describe(ctx, here, c.env.Cluster(0), cli, settings.command); err != nil {
		return contestResult{}, err
	}
	maps.Copy(c.result.Run.Versions, versions)
	for _, latency := range settings.latencies {
		n, err := connect(c.env, latency, dir)
		if err != nil {
			return contestResult{}, err
		}
		defer n.close()
		c.networks = append(c.networks, n)
	}
	err = c.hold(ctx)
	return c.result, err
}

// invite creates the contenders that were chosen, and returns their versions.
func (c *contest) invite(ctx context.Context, cli string) (map[string]string, error) {
	versions := map[string]string{}
	bin, err := filepath.Abs("bin")
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for this program: %w", err)
	}
	for _, name := range c.settings.contenders {
		switch name {
		case "fleet", "fleet-default":
			if _, err := os.Stat(filepath.Join(bin, "terraform-provider-fleet")); err != nil {
				return nil, fmt.Errorf("the provider is not built (make build): %w", err)
			}
			c.contenders = append(c.contenders, fleet{terraform: terraform{cli: cli, address: fleetAddress, bin: bin}, byDefault: name == "fleet-default"})
		case "helm":
			path, err := testenv.HelmCLI(ctx, progress)
			if err != nil {
				return nil, err
			}
			if versions["Helm"], err = output(ctx, path, "version", "--template", "{{.Version}}"); err != nil {
				return nil, err
			}
			c.contenders = append(c.contenders, helmCLI{path: path})
		case "helm-provider":
			binary := os.Getenv(helmProviderVariable)
			if binary == "" {
				progress("%s is not set: terraform-provider-helm does not take part", helmProviderVariable)
				continue
			}
			provider, err := newHelmProvider(cli, binary, filepath.Join(c.dir, "helm-provider"))
			if err != nil {
				return nil, err
			}
			versions["terraform-provider-helm"] = provider.version()
			c.contenders = append(c.contenders, provider)
		case "floor", "floor-ready":
			c.contenders = append(c.contenders, floor{program: program, seen: name == "floor-ready"})
		default:
			return nil, fmt.Errorf("unknown contender %q: %v", name, allContenders())
		}
	}
	return versions, nil
}

// hold runs the contest.
func (c *contest) hold(ctx context.Context) error {
	for _, w := range c.settings.works {
		for _, n := range c.networks {
			if err := c.holdCell(ctx, n, cell{Work: w, Network: n.name(), Wait: true}); err != nil {
				return err
			}
			const middling = 40
			if n.latency > 0 && w.Objects == middling {
				if err := c.holdCell(ctx, n, cell{Work: w, Network: n.name()}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *contest) holdCell(ctx context.Context, n *network, in cell) (err error) {
	namespaces := map[string][]string{}
	defer func() { err = errors.Join(err, c.outsider.clear(context.WithoutCancel(ctx), namespaces)) }()
	began := time.Now()
	for round := range c.settings.rounds {
		if took := time.Since(began).Round(time.Second); round > 0 && took > c.settings.budget {
			progress("no further round of this: %d took %s", round, took)
			return nil
		}
		for _, k := range c.takePart(in, round) {
			progress("%s, %s%s, round %d of %d: %s", in.Work, in.Network, waiting(in.Wait), round+1, c.settings.rounds, k.name())
			namespace := fmt.Sprintf("bench-%s-%d", k.name(), round+1)
			for _, cluster := range c.env.Contexts() {
				namespaces[cluster] = append(namespaces[cluster], namespace)
			}
			if err := c.turn(ctx, n, in, round, k, namespace); err != nil {
				return fmt.Errorf("%s, %s, round %d, %s: %w", in.Work, in.Network, round+1, k.name(), err)
			}
			// Save each result at once: a later failure then loses nothing.
			if err := save(c.settings.raw, c.result); err != nil {
				return err
			}
		}
	}
	return nil
}

func waiting(wait bool) string {
	if wait {
		return ""
	}
	return " without waiting"
}

// takePart returns the contenders of a cell in the order of a round: each round begins with another
// contender.
func (c *contest) takePart(in cell, round int) []contender {
	var part []contender
	for i := range c.contenders {
		k := c.contenders[(i+round)%len(c.contenders)]
		if onlyWaits(k) && !in.Wait {
			continue
		}
		part = append(part, k)
	}
	return part
}

// onlyWaits reports whether a contender differs from another one in its waiting alone.
func onlyWaits(k contender) bool {
	switch k := k.(type) {
	case fleet:
		return k.byDefault
	case floor:
		return k.seen
	}
	return false
}

// turn runs one contender through all steps. It leaves an empty namespace, which disturbs no later
// turn. Waiting until the namespace no longer exists would take longer than some turns.
func (c *contest) turn(ctx context.Context, n *network, in cell, round int, k contender, namespace string) (err error) {
	t := task{
		work: in.Work, wait: in.Wait, namespace: namespace, kubeconfig: n.kubeconfig, contexts: c.env.Contexts(),
		dir: filepath.Join(c.dir, "turn"),
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	for _, s := range steps() {
		commands, err := k.commands(ctx, t, s)
		if err != nil {
			return fmt.Errorf("preparing %s: %w", s, err)
		}
		if len(commands) == 0 {
			continue
		}
		n.startCounting()
		used, err := measure(ctx, commands)
		requests := n.counted()
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if err := c.outsider.check(ctx, t, s, k.waits(t)); err != nil {
			return err
		}
		if !slices.Contains(timedSteps(), s) {
			continue
		}
		progress("  %-8s %7.2f s, %6.2f s CPU, %4d MB", s, used.Seconds, used.CPU, used.Peak/megabyte)
		c.result.Samples = append(c.result.Samples, sample{Cell: in, Contender: k.name(), Round: round, Step: s, Usage: used, Requests: requests})
	}
	return nil
}

// known returns an error if a name is not the name of a contender.
func known(names []string) error {
	for _, name := range names {
		if !slices.Contains(allContenders(), name) {
			return fmt.Errorf("unknown contender %q: %v", name, allContenders())
		}
	}
	return nil
}
