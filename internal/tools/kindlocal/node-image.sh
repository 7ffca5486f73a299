#!/usr/bin/env bash
# Writes a node image for kind as one archive of files: the packages of Debian in $WORK/node, the files
# of kind's own base image, the programs of Kubernetes, and the images of a control plane.
set -euo pipefail

archive=$1
root=$WORK/node
programs=$WORK/programs
kind=$(go list -modfile=internal/tools/go.mod -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files
units=$root/etc/systemd/system

# add_base adds the files and services of kind's base image. Those of Debian would not run in a container.
add_base() {
  cp -r --no-preserve=mode,ownership "$kind/." "$root/"
  chmod 755 "$root"/usr/local/bin/* "$root"/kind/bin/*
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}
  rm -f "$root"/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service \
    "$root"/lib/systemd/system/{multi-user,local-fs,basic}.target.wants/* "$units"/*.wants/* \
    "$root"/lib/systemd/system/sockets.target.wants/*{udev,initctl}*
  echo ReadKMsg=no >>"$root/etc/systemd/journald.conf"
  ln -sf /lib/systemd/systemd "$root/sbin/init"
  ln -sf /dev/null "$units/systemd-binfmt.service"
  mkdir -p "$units"/{multi-user.target.wants,containerd.service.d} "$root"/etc/{kubernetes/manifests,cni/net.d} \
    "$root"/{opt/cni/bin,kind/manifests,lib/modules}
  for unit in kubelet containerd undo-mount-hacks; do
    ln -sf "/etc/systemd/system/$unit.service" "$units/multi-user.target.wants/$unit.service"
  done
}

add_programs() {
  install -t "$root/usr/local/bin" "$programs"/{containerd,containerd-shim-runc-v2,ctr}
  install -t "$root/usr/local/sbin" "$programs/runc"
  install -t "$root/opt/cni/bin" "$programs"/{host-local,loopback,ptp,portmap}
  install -t "$root/usr/bin" "$programs"/{kubelet,kubeadm,kubectl}
  echo "$VERSION" >"$root/kind/version"
}

# configure writes what kind's base image generates, and what a machine without CAP_SYS_RESOURCE needs.
configure() {
  "$programs/ctr" oci spec | jq '.hooks.createContainer = [{"path": "/kind/bin/mount-product-files.sh"}]
    | del(.process.rlimits)
    | (.process.capabilities // {}) |= map_values(map(select(. != "CAP_SYS_RESOURCE")))' >"$root/etc/containerd/cri-base.json"
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/; s/SystemdCgroup = true/SystemdCgroup = false/' "$root/etc/containerd/config.toml"
  cat >"$root/kind/bin/cover-settings.sh" <<'EOF'
#!/bin/bash
# Covers settings of the whole machine. The kubelet requires these values, and would change them.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  name=${setting%=*}
  mkdir -p "/run/settings/$(dirname "$name")"
  echo "${setting#*=}" >"/run/settings/$name"
  mountpoint -q "/proc/sys/$name" || mount --bind "/run/settings/$name" "/proc/sys/$name"
done
EOF
  chmod 755 "$root/kind/bin/cover-settings.sh"
  printf '[Service]\nExecStartPre=/kind/bin/cover-settings.sh\n' >"$units/containerd.service.d/20-settings.conf"
  # A node that is alone needs no network program, only its settings.
  cat >"$root/etc/cni/net.d/10-node.conflist" <<'EOF'
{"cniVersion": "1.0.0", "name": "node", "plugins": [
  {"type": "ptp", "mtu": 1500, "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
  # No registry can be reached. Without an address that refuses, a missing image fails after 50 seconds,
  # and other pods and the end of its own pod wait for it.
  mkdir -p "$root/etc/containerd/certs.d/_default"
  echo 'server = "http://127.0.0.1:1"' >"$root/etc/containerd/certs.d/_default/hosts.toml"
  cat >"$root/kind/manifests/default-storage.yaml" <<'EOF'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
EOF
  # A volume serves one claim, because nothing makes it available again.
  for i in {1..50}; do
    cat >>"$root/kind/manifests/default-storage.yaml" <<EOF
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: volume-$i}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  hostPath: {path: /var/lib/volumes/$i, type: DirectoryOrCreate}
  persistentVolumeReclaimPolicy: Retain
  storageClassName: standard
EOF
  done
}

# make_image makes an image of programs of the node, the first of which it runs, and of their libraries.
make_image() {
  local name=$1 files
  shift
  files=$(printf '%s\n' "$@" && for program in "$@"; do chroot "$root" ldd "$program" | grep -oE '/[^ ]+' || true; done)
  sort -u <<<"$files" | sed 's#^/##' | tar -C "$root" -ch --no-recursion -T - tmp |
    docker import --change "ENTRYPOINT [\"$1\"]" --change 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin' - "$name" >/dev/null
}

# make_images makes the images that kubeadm asks for. The programs are in the node only meanwhile.
make_images() {
  local name program extra
  for name in $("$programs/kubeadm" config images list --kubernetes-version "$VERSION"); do
    program=$(basename "${name%:*}")
    [ "$program" != pause ] || continue # It is an image of the tests.
    extra=()
    [ "$program" != kube-proxy ] || extra=(/usr/sbin/nft /usr/sbin/conntrack)
    install -t "$root/usr/local/bin" "$programs/$program"
    make_image "$name" "/usr/local/bin/$program" "${extra[@]}"
    rm "$root/usr/local/bin/$program"
    images+=("$name")
  done
}

# load_images unpacks the images into the containerd of the node.
load_images() {
  local ctr=("$programs/ctr" --address /run/node-containerd.sock -n k8s.io)
  mkdir -p "$root/var/lib/containerd"
  echo 'version = 3' >"$WORK/containerd.toml"
  "$programs/containerd" --config "$WORK/containerd.toml" --address /run/node-containerd.sock --root "$root/var/lib/containerd" --state /run/node-containerd >"$WORK/containerd.log" 2>&1 &
  for _ in {1..300}; do
    ! "${ctr[@]}" version >/dev/null 2>&1 || break
    sleep 0.2
  done
  docker save "${images[@]}" | "${ctr[@]}" images import - >/dev/null
  "${ctr[@]}" images import "$WORK/images/pause.tar" >/dev/null
  kill %1
  wait
  docker rmi "${images[@]}" >/dev/null
}

images=()
add_base
add_programs
configure
make_images
load_images
tar -C "$root" -cf "$archive.unfinished" .
mv "$archive.unfinished" "$archive"
