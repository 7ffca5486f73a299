package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// FleetManagement is the name of the management cluster of a Fleet, and of its context.
	FleetManagement = "mgmt"
	// FleetNamespace is where the Cluster objects of a Fleet are, and where its Bundles belong.
	FleetNamespace = "fleet-default"
	// fleetSystem is the namespace of Fleet itself, in the management cluster and in all others.
	fleetSystem = "cattle-fleet-system"
	// fleetTimeout is far more than a start takes: an agent checks in 15 s after its start.
	fleetTimeout = 5 * time.Minute
)

// A FleetCluster is one cluster that a Fleet delivers to.
type FleetCluster struct {
	// Name is the name of its Cluster object and of its context in the kubeconfig.
	Name           string
	Labels         map[string]string
	Annotations    map[string]string
	TemplateValues map[string]any
}

// FleetOptions describe what to start.
type FleetOptions struct {
	// Clusters are the clusters that the Fleet delivers to, in addition to the management cluster.
	// There may be none, for a Fleet of simulated clusters.
	Clusters []FleetCluster
	// Parent and Log are as in Options.
	Parent string
	Log    Log
}

// A Fleet is a running Rancher Fleet: its controllers on a management cluster, and an agent for
// each other cluster. Its methods may be called from several goroutines.
type Fleet struct {
	env      *Env
	clusters map[string]*Cluster

	processes *fleetProcesses
}

// StartFleet starts control planes and Fleet on them, and returns when every agent has checked in.
// It first builds the programs if they are not built yet. If it fails, nothing keeps running.
// Existing clusters are not used: Fleet would stay on them.
func StartFleet(ctx context.Context, options FleetOptions) (*Fleet, error) {
	if _, _, ok := existingClusters(); ok {
		return nil, ErrExternal
	}
	options.Log = orSilent(options.Log)
	programs, err := BuildFleet(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	names := []string{FleetManagement}
	for _, cluster := range options.Clusters {
		names = append(names, cluster.Name)
	}
	env, err := Start(ctx, Options{Names: names, Parent: options.Parent, Log: options.Log})
	if err != nil {
		return nil, err
	}
	fleet := &Fleet{env: env, processes: newFleetProcesses(env), clusters: map[string]*Cluster{}}
	for i, name := range names {
		fleet.clusters[name] = env.Cluster(i)
	}
	began := time.Now()
	options.Log("starting Fleet for %d cluster(s), about 30 s", len(options.Clusters))
	if err := fleet.start(ctx, programs, options.Clusters); err != nil {
		return nil, errors.Join(err, fleet.Stop(context.WithoutCancel(ctx)))
	}
	options.Log("Fleet is ready after %s", time.Since(began).Round(100*time.Millisecond))
	return fleet, nil
}

func (f *Fleet) start(ctx context.Context, programs string, clusters []FleetCluster) error {
	ctx, cancel := context.WithTimeout(ctx, fleetTimeout)
	defer cancel()
	if err := f.processes.link(programs); err != nil {
		return err
	}
	management, err := f.newFleetClient(FleetManagement)
	if err != nil {
		return err
	}
	kubeconfig, err := management.install(ctx, programs, len(clusters) > 0)
	if err != nil {
		return fmt.Errorf("installing Fleet: %w", err)
	}
	if err := write(f.processes.file("kubeconfig"), []byte(kubeconfig)); err != nil {
		return err
	}
	if err := f.startControllers(ctx); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, cluster := range clusters {
		group.Go(func() error {
			if err := f.join(groupCtx, management, cluster); err != nil {
				return fmt.Errorf("adding cluster %s to Fleet: %w", cluster.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// join registers a cluster as its administrator would, with a kubeconfig. It then starts the agent,
// in place of the Pod that agent management has created on the cluster.
func (f *Fleet) join(ctx context.Context, management fleetClient, cluster FleetCluster) error {
	kubeconfig, err := os.ReadFile(f.clusters[cluster.Name].local.file("kubeconfig"))
	if err != nil {
		return fmt.Errorf("reading its kubeconfig: %w", err)
	}
	if err := management.register(ctx, cluster, kubeconfig); err != nil {
		return err
	}
	if err := management.awaitImport(ctx, cluster.Name); err != nil {
		return err
	}
	return f.startAgent(ctx, management, cluster.Name)
}

// Cluster returns a cluster by its name. Its control plane can be stopped and started again. The
// management cluster cannot be moved: agents have its address in their configuration.
func (f *Fleet) Cluster(name string) *Cluster { return f.clusters[name] }

// Management returns the cluster with the Cluster objects and Bundles.
func (f *Fleet) Management() *Cluster { return f.clusters[FleetManagement] }

// Kubeconfig returns the path of a kubeconfig with a context for each cluster, by its name. The
// management cluster's context is the current one. All contexts have all rights.
func (f *Fleet) Kubeconfig() string { return f.env.Kubeconfig() }

// Contexts returns the names of all clusters: first the management cluster, then the clusters that
// the Fleet delivers to.
func (f *Fleet) Contexts() []string { return f.env.Contexts() }

// Stop ends Fleet and its clusters and removes their folder. A second call does nothing.
func (f *Fleet) Stop(ctx context.Context) error {
	if err := f.env.Stop(ctx); err != nil {
		return err
	}
	return f.processes.endAll(ctx)
}
