package testenv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Names of Fleet's processes and of their logs. An agent has the name of its cluster, with a
// prefix.
const (
	controllerProcess      = "controller"
	cleanupProcess         = "cleanup"
	agentManagementProcess = "agentmanagement"
	agentPrefix            = "agent-"
)

// controllerVariables returns the settings of Fleet's chart, without ports: the tests read no
// metrics.
func controllerVariables() []string {
	variables := []string{
		"FLEET_METRICS_BIND_ADDRESS=0",
		"FLEET_HEALTHPROBE_BIND_ADDRESS=0",
		"FLEET_AGENT_REPLICA_COUNT=1",
		"FLEET_AGENT_ELECTION_LEASE_DURATION=30s",
		"FLEET_AGENT_ELECTION_RETRY_PERIOD=10s",
		"FLEET_AGENT_ELECTION_RENEW_DEADLINE=25s",
		"FLEET_REGISTRATION_TOKEN_TTL_REQUIRED=false",
		"FLEET_PROPAGATE_DEBUG_SETTINGS_TO_AGENTS=true",
		"FLEET_DEBUG_DISABLE_SECURITY_CONTEXT=false",
	}
	for _, reconciler := range []string{"BUNDLE", "BUNDLEDEPLOYMENT", "CLUSTER", "CLUSTERGROUP", "SCHEDULE", "CONTENT"} {
		variables = append(variables, reconciler+"_RECONCILER_WORKERS=50")
	}
	return variables
}

func agentVariables() []string {
	return []string{
		"CHECKIN_INTERVAL=15m",
		"BUNDLEDEPLOYMENT_RECONCILER_WORKERS=50",
		"DRIFT_RECONCILER_WORKERS=50",
		"FLEET_AGENT_METRICS_BIND_ADDRESS=0",
		"FLEET_AGENT_PROBE_BIND_ADDRESS=0",
		"FLEET_AGENT_PPROF_DISABLED=true",
	}
}

// withoutElection lets a program start at once after it was killed. With an election, it would wait
// for the end of its own Lease. It would also exit when a busy machine renews the Lease late.
const withoutElection = "--leader-elect=false"

func (f *Fleet) startControllers(ctx context.Context) error {
	if err := f.StartController(ctx); err != nil {
		return err
	}
	variables := controllerVariables()
	if err := f.processes.launch(ctx, cleanupProcess, fleetController, f.processes.file("kubeconfig"), variables, "cleanup"); err != nil {
		return err
	}
	return f.processes.launch(ctx, agentManagementProcess, fleetController, f.processes.file("kubeconfig"), variables, "agentmanagement", "--disable-bootstrap")
}

// StartController starts the controller that turns Bundles into BundleDeployments. It does nothing
// if the controller runs. The controller acts only after some seconds, so wait for its results.
func (f *Fleet) StartController(ctx context.Context) error {
	return f.processes.launch(ctx, controllerProcess, fleetController, f.processes.file("kubeconfig"), controllerVariables(), withoutElection)
}

// StopController kills that controller. Agents and agent management continue to run.
func (f *Fleet) StopController(ctx context.Context) error {
	return f.processes.end(ctx, controllerProcess)
}

// StopAgent kills the agent of a cluster.
func (f *Fleet) StopAgent(ctx context.Context, cluster string) error {
	return f.processes.end(ctx, agentPrefix+cluster)
}

// StartAgent starts the agent of a cluster and returns when the agent has checked in, about 15 s
// after the start. It does nothing if the agent runs.
func (f *Fleet) StartAgent(ctx context.Context, cluster string) error {
	ctx, cancel := context.WithTimeout(ctx, fleetTimeout)
	defer cancel()
	management, err := f.newFleetClient(FleetManagement)
	if err != nil {
		return err
	}
	if err := errors.Join(management.findAgent(ctx, cluster), f.startAgent(ctx, management, cluster)); err != nil {
		return fmt.Errorf("starting the agent of cluster %s: %w", cluster, err)
	}
	return nil
}

// startAgent starts an agent as kubelet starts a container: again if it ends. An agent ends when an
// object that it reads is missing, and agent management deletes and creates these objects again
// when it repeats the import of a cluster (importCluster in
// internal/cmd/controller/agentmanagement/controllers/cluster/import.go of Fleet).
func (f *Fleet) startAgent(ctx context.Context, management fleetClient, cluster string) error {
	name := agentPrefix + cluster
	if f.processes.runs(name) {
		return nil
	}
	if err := f.processes.end(ctx, name); err != nil { // It may have ended.
		return err
	}
	downstream, err := f.newFleetClient(cluster)
	if err != nil {
		return err
	}
	controllersFail := management.failure
	management.failure = func() error { return errors.Join(controllersFail(), f.processes.failureOf(name)) }
	// Fleet stores full seconds.
	began := time.Now().Truncate(time.Second)
	kubeconfig := f.clusters[cluster].local.file("kubeconfig")
	start := func(ctx context.Context) error {
		if err := downstream.awaitAgentManagement(ctx); err != nil {
			return err
		}
		return f.processes.launch(ctx, name, fleetAgent, kubeconfig, agentVariables(), withoutElection)
	}
	return f.processes.startUntilReady(ctx, name, start, func(ctx context.Context) error {
		return management.awaitCheckIn(ctx, cluster, began)
	})
}

// electionVariables returns the variables that every program of Fleet needs, also without an
// election.
func electionVariables() []string {
	return []string{
		"CATTLE_ELECTION_LEASE_DURATION=30s",
		"CATTLE_ELECTION_RETRY_PERIOD=10s",
		"CATTLE_ELECTION_RENEW_DEADLINE=25s",
	}
}
