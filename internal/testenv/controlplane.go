package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	localhost = "127.0.0.1"
	// serviceAddress is the address of the Service kubernetes.
	serviceAddress = "10.0.0.1"
)

// A controlPlane is the API server and the controllers of one cluster. All clusters of the
// environment share one etcd.
type controlPlane struct {
	name     string
	dir      string
	launcher launcher
	etcd     *process
	etcdURL  string
	log      Log

	port  *reservedPort
	ca    []byte
	token string
	// node is the real node, nil for one that kwok simulates. nodeToken is the token of its kubelet.
	node      *node
	nodeToken string

	running []*process
}

// prepare writes the files that stay the same over restarts: certificate, keys and tokens.
func (c *controlPlane) prepare(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("creating the folder of cluster %s: %w", c.name, err)
	}
	if c.node != nil {
		if err := c.prepareNode(ctx); err != nil {
			return fmt.Errorf("preparing the node of cluster %s: %w", c.name, err)
		}
	}
	// Programs in pods use the address of the Service kubernetes.
	certificate, key, err := cert.GenerateSelfSignedCertKey(c.address(), []net.IP{net.ParseIP(c.address()), net.ParseIP(serviceAddress)}, []string{"localhost", "kubernetes.default.svc"})
	if err != nil {
		return fmt.Errorf("making the certificate of cluster %s: %w", c.name, err)
	}
	serviceAccountKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("making the key of service accounts of cluster %s: %w", c.name, err)
	}
	c.ca = certificate
	// The group system:masters gives all rights to the tests and, for simplicity, to the
	// controllers.
	tokens := c.token + ",admin,admin,system:masters\n"
	if c.node != nil {
		tokens += c.nodeToken + ",system:node:" + nodeName + ",node,system:nodes\n"
	}
	files := map[string][]byte{
		"apiserver.crt":       certificate,
		"apiserver.key":       key,
		"service-account.key": serviceAccountKey,
		"tokens.csv":          []byte(tokens),
	}
	for name, content := range files {
		if err := write(c.file(name), content); err != nil {
			return err
		}
	}
	return c.changePort()
}

// prepareNode takes a network for the node. The API server listens at its address on this machine.
func (c *controlPlane) prepareNode(ctx context.Context) error {
	if err := os.MkdirAll(c.node.dir, 0o700); err != nil {
		return fmt.Errorf("creating its folder: %w", err)
	}
	c.nodeToken = rand.Text()
	return c.node.claim(ctx)
}

// address returns the address that the API server listens at.
func (c *controlPlane) address() string {
	if c.node != nil {
		return c.node.host()
	}
	return localhost
}

func (c *controlPlane) file(name string) string { return filepath.Join(c.dir, name) }

// changePort is for a stopped control plane. It gives up the old port last, so that the new port
// differs.
func (c *controlPlane) changePort() error {
	port, err := reservePort(c.address())
	if err != nil {
		return err
	}
	c.release()
	c.port = port
	return c.writeKubeconfig()
}

func (c *controlPlane) release() {
	if c.port != nil {
		c.port.release()
	}
}

func (c *controlPlane) restConfig() *rest.Config {
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort(c.address(), strconv.Itoa(c.port.number)),
		BearerToken:     c.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca},
	}
}

// writeKubeconfig writes kubeconfigs for the controllers and for the kubelet. Tests use that of the
// environment.
func (c *controlPlane) writeKubeconfig() error {
	if c.node != nil {
		if err := c.writeKubeconfigOf(c.nodeToken, "kubelet.kubeconfig"); err != nil {
			return err
		}
	}
	return c.writeKubeconfigOf(c.token, "kubeconfig")
}

func (c *controlPlane) writeKubeconfigOf(token, file string) error {
	kubeconfig := clientcmdapi.NewConfig()
	cluster := &Cluster{context: c.name, config: c.restConfig()}
	cluster.addTo(kubeconfig, token)
	kubeconfig.CurrentContext = c.name
	content, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return fmt.Errorf("encoding a kubeconfig: %w", err)
	}
	return write(c.file(file), content)
}

// start starts the cluster and returns when it is ready. It does nothing if the cluster runs.
func (c *controlPlane) start(ctx context.Context, config *rest.Config) error {
	if len(c.running) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := c.startAll(ctx, config)
	if err == nil {
		return nil
	}
	return errors.Join(err, c.stop(context.WithoutCancel(ctx)))
}

func (c *controlPlane) startAll(ctx context.Context, config *rest.Config) error {
	ready, err := newReadiness(config, c.failure)
	if err != nil {
		return err
	}
	if c.node != nil {
		if err := c.node.open(ctx); err != nil {
			return err
		}
	}
	if err := c.launch(ctx, "kube-apiserver", c.apiServerFlags()...); err != nil {
		return err
	}
	if err := ready.apiServer(ctx); err != nil {
		return err
	}
	if c.node == nil {
		if err := createNode(ctx, ready.client); err != nil {
			return err
		}
		if err := freeNode(ctx, ready.client); err != nil {
			return err
		}
	}
	for _, controller := range c.controllers() {
		if err := c.launch(ctx, controller.program, controller.flags...); err != nil {
			return err
		}
	}
	if c.node != nil {
		if err := c.node.start(ctx, c.file("kubeconfig"), c.file("kubelet.kubeconfig")); err != nil {
			return err
		}
	}
	if err := ready.workloads(ctx); err != nil {
		return err
	}
	c.log("cluster %s is ready at %s", c.name, config.Host)
	return nil
}

func (c *controlPlane) launch(ctx context.Context, program string, flags ...string) error {
	started, err := c.launcher.start(ctx, program, c.file(program+".log"), flags...)
	if err != nil {
		return err
	}
	c.running = append(c.running, started)
	return nil
}

func (c *controlPlane) apiServerFlags() []string {
	endpoints := "lease"
	if c.node == nil {
		endpoints = "none" // A loopback address is no valid endpoint of the Service kubernetes.
	}
	return []string{
		"--etcd-servers=" + c.etcdURL,
		"--etcd-prefix=/" + c.name,
		"--bind-address=" + c.address(),
		"--advertise-address=" + c.address(),
		"--endpoint-reconciler-type=" + endpoints,
		"--secure-port=" + strconv.Itoa(c.port.number),
		"--permit-port-sharing=true", // Together with the socket that reserves the port.
		"--tls-cert-file=" + c.file("apiserver.crt"),
		"--tls-private-key-file=" + c.file("apiserver.key"),
		"--token-auth-file=" + c.file("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--kubelet-preferred-address-types=InternalIP",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file("service-account.key"),
		"--service-account-signing-key-file=" + c.file("service-account.key"),
		"--allow-privileged=true",
	}
}

type controller struct {
	program string
	flags   []string
}

// controllers returns the controllers of a cluster. They open no ports, which would only serve
// metrics and profiles.
func (c *controlPlane) controllers() []controller {
	kubeconfig := c.file("kubeconfig")
	controllers := []controller{
		{program: "kube-controller-manager", flags: []string{
			"--kubeconfig=" + kubeconfig,
			"--service-account-private-key-file=" + c.file("service-account.key"),
			"--root-ca-file=" + c.file("apiserver.crt"),
			// By default each of its controllers makes 20 requests a second. That would be the only
			// delay in a rollout of some Deployments.
			"--kube-api-qps=200",
			"--kube-api-burst=400",
			"--leader-elect=false",
			"--secure-port=0",
			"--controllers=" + strings.Join(enabledControllers(), ","),
		}},
		{program: "kube-scheduler", flags: []string{
			"--kubeconfig=" + kubeconfig,
			"--leader-elect=false",
			"--secure-port=0",
		}},
	}
	if c.node != nil {
		return controllers
	}
	return append(controllers, controller{program: "kwok", flags: []string{
		"--kubeconfig=" + kubeconfig,
		"--config=" + filepath.Join(c.launcher.programs, "kwok.yaml"),
		"--manage-all-nodes=true",
		"--node-ip=" + localhost,
		// Without a lease the node is treated as lost after 40 s.
		"--node-lease-duration-seconds=40",
	}})
}

// enabledControllers are all but those that have nothing to do here: no volume is attached or grows,
// no certificate is requested, and no service account is older than the cluster.
func enabledControllers() []string {
	enabled := []string{"*"}
	for _, unused := range []string{
		"persistentvolume-attach-detach-controller",
		"persistentvolume-expander-controller",
		"ephemeral-volume-controller",
		"volumeattributesclass-protection-controller",
		"certificatesigningrequest-signing-controller",
		"certificatesigningrequest-approving-controller",
		"certificatesigningrequest-cleaner-controller",
		"legacy-serviceaccount-token-cleaner-controller",
		"endpointslice-mirroring-controller",
		"storageversion-garbage-collector-controller",
		"ttl-controller",
	} {
		enabled = append(enabled, "-"+unused)
	}
	return enabled
}

// failure returns nil while every process that the cluster needs runs.
func (c *controlPlane) failure() error {
	var failures []error
	for _, p := range append([]*process{c.etcd}, c.running...) {
		failures = append(failures, p.failure())
	}
	return errors.Join(failures...)
}

func (c *controlPlane) stop(ctx context.Context) error {
	var failures []error
	if c.node != nil {
		failures = append(failures, c.node.stop(ctx))
	}
	for _, p := range c.running {
		failures = append(failures, p.stop(ctx))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	c.running = nil
	return nil
}
