// Package testenv runs real Kubernetes clusters for tests and the demo. It needs a Unix machine
// with Go, but no Docker.
//
// # What runs
//
// One etcd serves all clusters of an environment, each under its own key prefix. Each cluster has
//
//   - a kube-apiserver with RBAC, a certificate and its own address on 127.0.0.1,
//   - a kube-controller-manager and a kube-scheduler, so that Deployments get Pods, Pods get a node,
//     namespaces are emptied and garbage is collected,
//   - kwok, which simulates the kubelet of the one node "node-1": a scheduled Pod is Running and Ready at
//     once, a Pod of a Job succeeds at once, and a deleted Pod is removed at once.
//
// All of them are the unchanged upstream programs, built from Go modules by [Build]. Their versions
// are those of controlplane/go.mod, and [KubernetesVariable] chooses another Kubernetes. The first
// build takes about 4 minutes on 2 cores. It puts 360 MB into the user's cache, below
// terraform-provider-fleet/testenv. Later calls find the build by its content and take
// milliseconds, also in other clones. A build that was not used for 30 days is removed by the next
// build.
//
// The command line tools are built in the same way where they are needed: OpenTofu for
// [TerraformCLI] if there is no CLI, a newer Terraform if [CLIVariable] names it, Helm for [HelmCLI]
// and kubectl for [KubectlCLI].
//
// # Real nodes
//
// With [Options].Nodes, each cluster has a real node in place of kwok's: a kubelet, containerd, runc,
// kube-proxy and CoreDNS, in namespaces and control groups of their own, which a pair of network
// interfaces joins to the host. Pods run there, have probes and logs, and reach each other and
// Services by their names. Images are made by this package and loaded into containerd, because there
// is no registry. The process that starts a node ends with its parent, and the node with it. Real
// nodes need Linux and root; [CheckNodes] returns what is missing. One cluster is ready after about
// 15 s and takes 420 MB, three at once are ready after about 22 s. Control groups of version 2 have
// not been tried.
//
// # Fleet
//
// [StartFleet] runs a real Rancher Fleet with these clusters, built from fleet/go.mod. Its
// controllers use a management cluster, and each other cluster has one agent. They are processes of
// this machine, not Pods: kwok simulates the Pod of the agent that Fleet deploys, and the process
// does the agent's work. CRDs and rights are read from the charts in Fleet's module at the start.
// The controllers have the rights of those charts, and the agents have all rights, as agents have.
// Leader election is off for programs that a test restarts, and the management cluster keeps its
// address. The build takes 330 s of CPU time without a cache, and puts 150 MB into the same cache.
// A Fleet of three clusters is ready 30 s after [StartFleet]. An agent waits for half of that time
// before it checks in.
//
// [Fleet.Simulate] adds Cluster objects without clusters. Only their agents are simulated: a
// stand-in reports each BundleDeployment as applied and ready. This shows how the load of Fleet's
// controllers and their clients grows with the number of clusters. It shows nothing about what is
// deployed.
//
// # What it costs
//
// Measured on 2 cores with 3 clusters at rest: 60 MB for etcd, and for each cluster 270 to 300 MB
// for the API server, 110 MB for the controller manager, 70 MB for the scheduler and 60 MB for
// kwok. So three clusters take 1.6 GB. They are ready 5 to 8 s after [Start], or after 15 s if
// three test binaries start three clusters each. One cluster is ready after 3 s, a stopped cluster
// is ready again after 2 s.
//
// # What is missing
//
// Without real nodes, no container runs: no logs, no exec, no probes, no network between Pods, no images pulled. A
// Service of type LoadBalancer never gets an address, because there is no cloud. A
// PersistentVolumeClaim is never bound, because there is no storage. Objects that wait for one of
// them wait for ever. Admission and conversion webhooks need a server that the test runs itself. A
// namespace takes 5 s to disappear, as in every cluster, because its controller waits for other API
// servers.
//
// The clusters are for tests. They listen only on 127.0.0.1 and require a token. etcd requires
// none, so every user of the machine can read the content of the clusters.
//
// # In a test
//
// Tests that need clusters run only when TF_ACC is set, like all acceptance tests of a provider,
// and skip with a reason otherwise. [Shared] returns clusters that a test binary starts once, at
// the first call. [New] starts clusters for one test alone, which may stop and move them. Test
// binaries can share clusters: if FLEET_TEST_SHARED is the path of the kubeconfig of an environment,
// [Shared] returns the clusters of that environment. Some tests have fixed names, so each package
// runs once in such an environment.
// [SharedFleet] and [NewFleet] do the same with Fleet:
//
//	func TestDeploy(t *testing.T) {
//		env := testenv.Shared(t)
//		client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
//		...
//	}
//
// Neither needs a TestMain. However the process ends (a panic, Ctrl-C, SIGKILL), its end closes the
// standard input of a small shell process. The shell process then removes the environment's folder
// and kills the environment's process group, which it leads. If the shell process was killed too,
// the next [Start] removes what is left.
//
// # Existing clusters
//
// With FLEET_TEST_KUBECONFIG (a path) and FLEET_TEST_CONTEXTS (names, separated by commas) set, the
// same functions return those clusters and start nothing. Operations that are not possible on them,
// such as [Cluster.Stop], return [ErrExternal], and the test skips.
package testenv
