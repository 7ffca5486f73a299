//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const containerdConfig = `version = 3
root = %[1]q
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.differ.v1.erofs"]
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %[2]q
[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE nobody may have a lower score than containerd.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%[3]q]
    conf_dir = %[4]q
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      # The driver of systemd fails some containers under version 1 of control groups.
      SystemdCgroup = false
`

const networkConfig = `{"cniVersion":"1.0.0","name":"node","plugins":[
 {"type":"ptp","mtu":1500,"ipMasq":false,"ipam":{"type":"host-local","dataDir":"/run/cni-ipam","ranges":[[{"subnet":%[1]q}]],"routes":[{"dst":"0.0.0.0/0"}]}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
`

// kubeletConfig lets the kubelet run without CAP_SYS_RESOURCE, and under version 1 of control groups.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /
failCgroupV1: false
failSwapOn: false
featureGates: {KubeletInUserNamespace: true}
oomScoreAdj: 0
maxOpenFiles: 20000
resolvConf: /etc/resolv.conf
clusterDomain: cluster.local
clusterDNS: [%[1]s]
evictionHard: {memory.available: "50Mi", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%"}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
nodeStatusUpdateFrequency: 10s
volumeStatsAggPeriod: 2s
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: %[1]s
clientConnection: {kubeconfig: %[2]q}
clusterCIDR: %[3]s
oomScoreAdj: 0
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

const namesConfig = `.:53 {
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig %[1]s
    pods insecure
    ttl 5
  }
}
`

// writeFiles writes the settings of the programs.
func (n *node) writeFiles() error {
	for name, content := range map[string]string{
		"containerd.toml":          fmt.Sprintf(containerdConfig, n.file("containerd"), n.Pause, n.Plugins, n.file("network")),
		"network/10-node.conflist": fmt.Sprintf(networkConfig, n.Pods),
		"kubelet.yaml":             fmt.Sprintf(kubeletConfig, n.Address),
		"proxy.yaml":               fmt.Sprintf(proxyConfig, n.Name, n.Kubeconfig, n.Pods),
		"Corefile":                 fmt.Sprintf(namesConfig, n.Kubeconfig),
	} {
		path := n.file(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("creating the folder of %s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}
