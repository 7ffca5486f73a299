// Package testenv runs real Kubernetes clusters for tests and the demo, on any Unix machine with Go
// and without Docker.
//
// # What runs
//
// One etcd serves every cluster of an environment, each under a key prefix of its own. A cluster is
//
//   - a kube-apiserver with RBAC, a certificate and an address of its own on 127.0.0.1,
//   - a kube-controller-manager and a kube-scheduler, so that Deployments get Pods, Pods get a node,
//     namespaces are emptied and garbage is collected,
//   - kwok, which plays the kubelet of the one node "node-1": a scheduled Pod is Running and Ready at
//     once, a Pod of a Job succeeds at once, a deleted Pod is gone.
//
// All of them are the unchanged upstream programs, built from Go modules by [Build]: the versions are
// those of controlplane/go.mod, and [KubernetesVariable] chooses another Kubernetes. The first build takes
// about 4 minutes on 2 cores and puts 360 MB into the user's cache, below terraform-provider-fleet/testenv;
// later calls, also in other clones, find it by content and take milliseconds. A build that was not used for
// 30 days is removed by the next build.
//
// The commands that people run are built in the same way where they are needed: OpenTofu for
// [TerraformCLI] if there is no CLI, a newer Terraform if [CLIVariable] names it, and Helm for [HelmCLI].
//
// # Fleet
//
// [StartFleet] runs a real Rancher Fleet beside them, built from fleet/go.mod: its controllers on a
// management cluster, and one agent for each other cluster. They are processes of this machine, not
// Pods: kwok plays the Pod of the agent that Fleet deploys, and the process does its work. CRDs and
// rights come from the charts in Fleet's module when it starts. The controllers have the rights of
// those charts, the agents have all rights, as agents have. Elections are off where a test restarts a
// program, and the management cluster keeps its address. The build takes 330 s of CPU time cold, and
// puts 150 MB into the same cache. A Fleet of three clusters is ready 30 s after [StartFleet],
// half of which an agent waits before it checks in.
//
// [Fleet.Simulate] adds Cluster objects without clusters. Only their agents are simulated: a stand-in
// reports each BundleDeployment as applied and ready. It shows how Fleet's controllers and their clients
// grow with the number of clusters, and nothing about what is deployed.
//
// # What it costs
//
// Measured on 2 cores with 3 clusters at rest: 60 MB for etcd, and for each cluster 270 to 300 MB for
// the API server, 110 MB for the controller manager, 70 MB for the scheduler and 60 MB for kwok. So
// three clusters take 1.6 GB. They are ready 5 to 8 s after [Start], or 15 s when three test binaries
// start three each. One cluster is ready after 3 s, a stopped one is back after 2 s.
//
// # What is not there
//
// No container runs: no logs, no exec, no probes, no network between Pods, no images pulled. A Service
// of type LoadBalancer never gets an address, because there is no cloud, and a PersistentVolumeClaim is
// never bound, because there is no storage; whatever waits for one of them waits for ever. Admission and
// conversion webhooks need a server that the test runs itself. A namespace takes 5 s to disappear, as
// in every cluster, because its controller waits for other API servers.
//
// The clusters are for tests: they listen on 127.0.0.1 only and want a token, but etcd wants none, so
// every user of the machine can read what is in them.
//
// # In a test
//
// Tests that need clusters run only when TF_ACC is set, like all acceptance tests of a provider, and
// skip with a reason otherwise. [Shared] hands out clusters that a test binary starts once, when the
// first test asks; [New] starts clusters for one test alone, which may stop and move them.
// [SharedFleet] and [NewFleet] do the same with Fleet:
//
//	func TestDeploy(t *testing.T) {
//		env := testenv.Shared(t)
//		client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
//		...
//	}
//
// Neither needs a TestMain. Whatever way the process ends (a panic, Ctrl-C, SIGKILL), a small shell
// process notices that its standard input closed, removes the environment's folder and kills the
// environment's process group, of which it is the leader. If that one was killed as well, the next
// [Start] sweeps up what it left.
//
// # Existing clusters
//
// With FLEET_TEST_KUBECONFIG (a path) and FLEET_TEST_CONTEXTS (names, separated by commas) set, the same
// calls hand out those clusters and start nothing. What cannot be done to them, such as
// [Cluster.Stop], answers [ErrExternal], and the test skips.
package testenv
