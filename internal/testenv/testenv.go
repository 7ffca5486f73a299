package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Options describe what to start.
type Options struct {
	// Clusters is the number of clusters; 0 means 1.
	Clusters int
	// Names, if set, are the names of the local clusters and of their contexts, one for each. By
	// default the names are c1, c2 and so on. Existing clusters keep their names.
	Names []string
	// Nodes runs a real node in each local cluster, in place of kwok. See CheckNodes.
	Nodes bool
	// Parent is the folder in which a folder for all data is created and, at the end, removed.
	// Empty means the system's folder for temporary files.
	Parent string
	// Log, if set, receives messages about long steps, until Stop has returned.
	Log Log
}

// An Env is a set of running clusters.
type Env struct {
	clusters   []*Cluster
	kubeconfig string // path
	external   bool   // for clusters of FLEET_TEST_KUBECONFIG
	// local is nil for clusters that this process has not started.
	local *localEnv
}

// A localEnv is what the clusters of an environment share.
type localEnv struct {
	dir      string
	lock     *fileLock
	reaper   *reaper
	etcd     *process
	etcdURL  string
	ports    []*reservedPort
	planes   []*controlPlane
	programs string
	// nodes are the programs of real nodes, nil for simulated ones.
	nodes *nodePrograms
	log   Log

	mu sync.Mutex // of the kubeconfig file
}

// Start starts clusters in parallel and returns when all are ready. It first builds their programs
// if they are not built yet. If it fails, nothing keeps running.
//
// With FLEET_TEST_KUBECONFIG and FLEET_TEST_CONTEXTS set, it starts nothing and returns those
// clusters.
func Start(ctx context.Context, options Options) (*Env, error) {
	options.Clusters = max(1, options.Clusters, len(options.Names))
	for i := len(options.Names); i < options.Clusters; i++ {
		options.Names = append(options.Names[:i:i], "c"+strconv.Itoa(i+1))
	}
	options.Log = orSilent(options.Log)
	if path, contexts, ok := existingClusters(); ok {
		return connect(ctx, path, contexts, options)
	}
	if options.Nodes { // Before a build that takes minutes.
		if err := CheckNodes(); err != nil {
			return nil, err
		}
	}
	programs, err := Build(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	if !options.Nodes {
		return startLocal(ctx, programs, nil, options)
	}
	nodes, err := buildNodes(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	return startLocal(ctx, programs, &nodes, options)
}

func startLocal(ctx context.Context, programs string, nodes *nodePrograms, options Options) (*Env, error) {
	if options.Parent == "" {
		options.Parent = os.TempDir()
	}
	parent, err := filepath.Abs(options.Parent)
	if err != nil {
		return nil, fmt.Errorf("finding the folder for clusters: %w", err)
	}
	if err := sweep(ctx, parent, unclaimed, options.Log); err != nil {
		options.Log("cleaning up after other environments: %v", err)
	}
	began := time.Now()
	options.Log("starting %d Kubernetes cluster(s), about %d s", options.Clusters, 4+options.Clusters)
	local := &localEnv{programs: programs, nodes: nodes, log: options.Log}
	env := &Env{local: local}
	if err := env.startIn(ctx, parent, options.Names); err != nil {
		return nil, errors.Join(err, env.Stop(context.WithoutCancel(ctx)))
	}
	options.Log("%d Kubernetes cluster(s) ready after %s: %s", options.Clusters, time.Since(began).Round(100*time.Millisecond), env.kubeconfig)
	return env, nil
}

func (e *Env) startIn(ctx context.Context, parent string, names []string) error {
	if err := e.local.claimFolder(ctx, parent); err != nil {
		return err
	}
	e.kubeconfig = filepath.Join(e.local.dir, "kubeconfig")
	if err := e.local.startEtcd(ctx); err != nil {
		return err
	}
	for _, name := range names {
		e.clusters = append(e.clusters, e.newCluster(name))
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, cluster := range e.clusters {
		group.Go(func() error {
			if err := cluster.local.prepare(groupCtx); err != nil {
				return err
			}
			cluster.config = cluster.local.restConfig()
			return cluster.Start(groupCtx)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return e.writeKubeconfig()
}

func (e *Env) newCluster(name string) *Cluster {
	plane := &controlPlane{
		name:     name,
		dir:      filepath.Join(e.local.dir, name),
		launcher: e.local.launcher(),
		etcd:     e.local.etcd,
		etcdURL:  e.local.etcdURL,
		log:      e.local.log,
		token:    rand.Text(),
	}
	if e.local.nodes != nil {
		plane.node = &node{dir: filepath.Join(plane.dir, "node"), launcher: plane.launcher, programs: *e.local.nodes}
	}
	e.local.planes = append(e.local.planes, plane)
	return &Cluster{context: name, local: plane, changed: e.writeKubeconfig}
}

// claimFolder creates the environment's folder and the reaper that cleans it up, before anything
// else.
func (l *localEnv) claimFolder(ctx context.Context, parent string) error {
	dir, err := os.MkdirTemp(parent, folderPattern)
	if err != nil {
		return fmt.Errorf("making a folder for clusters: %w", err)
	}
	l.dir = dir
	if l.reaper, err = startReaper(ctx, dir, l); err != nil {
		return err
	}
	l.lock, err = tryLock(filepath.Join(dir, ownerLock))
	if err == nil && l.lock == nil {
		err = fmt.Errorf("the new folder %s is locked by another process", dir)
	}
	return err
}

func (l *localEnv) launcher() launcher {
	return launcher{programs: l.programs, home: l.dir, group: l.reaper.group}
}

func (l *localEnv) startEtcd(ctx context.Context) error {
	for range 2 {
		port, err := reservePort(localhost)
		if err != nil {
			return err
		}
		l.ports = append(l.ports, port)
	}
	url := func(port *reservedPort) string { return fmt.Sprintf("http://%s:%d", localhost, port.number) }
	client, peer := url(l.ports[0]), url(l.ports[1])
	etcd, err := l.launcher().start(ctx, "etcd", filepath.Join(l.dir, "etcd.log"),
		"--name=default",
		"--data-dir="+filepath.Join(l.dir, "etcd"),
		"--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer,
		"--socket-reuse-port=true", // Together with the sockets that reserve the ports.
		"--unsafe-no-fsync=true",   // The data may be lost if this machine crashes.
		"--log-level=warn",
	)
	if err != nil {
		return err
	}
	l.etcd, l.etcdURL = etcd, client
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return waitForEtcd(ctx, etcd, client)
}

func (e *Env) writeKubeconfig() error {
	e.local.mu.Lock()
	defer e.local.mu.Unlock()
	kubeconfig := clientcmdapi.NewConfig()
	for _, cluster := range e.clusters {
		cluster.addTo(kubeconfig, cluster.Token())
	}
	kubeconfig.CurrentContext = e.clusters[0].context
	content, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return write(e.kubeconfig, content)
}

// Kubeconfig returns the path of a kubeconfig with one context for each cluster; the first is the
// current one.
func (e *Env) Kubeconfig() string { return e.kubeconfig }

// Contexts returns the names of the clusters' contexts: those of Options, c1, c2 and so on, or
// those of existing clusters.
func (e *Env) Contexts() []string {
	names := make([]string, len(e.clusters))
	for i, cluster := range e.clusters {
		names[i] = cluster.context
	}
	return names
}

// Cluster returns a cluster by its place in Contexts, from 0.
func (e *Env) Cluster(i int) *Cluster { return e.clusters[i] }

// External reports whether the clusters are those of FLEET_TEST_KUBECONFIG.
func (e *Env) External() bool { return e.external }

// Stop ends every process of the environment and removes its folder. A second call does nothing,
// and existing clusters stay unchanged.
func (e *Env) Stop(ctx context.Context) error {
	if e.local == nil {
		return nil
	}
	return e.local.stop(ctx)
}

func (l *localEnv) stop(ctx context.Context) error {
	if l.dir == "" {
		return nil
	}
	if l.reaper != nil {
		if err := l.reaper.killAll(); err != nil {
			return err
		}
		l.reaper = nil
	}
	for _, plane := range l.planes {
		if err := plane.stop(ctx); err != nil {
			return err
		}
		plane.release()
	}
	if l.etcd != nil {
		if err := l.etcd.stop(ctx); err != nil {
			return err
		}
	}
	for _, port := range l.ports {
		port.release()
	}
	if err := os.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("removing the folder of the clusters: %w", err)
	}
	if l.lock != nil {
		l.lock.release()
	}
	l.dir = ""
	return nil
}
