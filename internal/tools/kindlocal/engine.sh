#!/usr/bin/env bash
# The first process in the namespaces of run.sh: starts the engine, loads the node image and runs a
# command. With this process everything in the namespaces ends.
set -euo pipefail

mount -t tmpfs -o mode=755 tmpfs /run
# What the engine writes outside its own folder is gone with it.
for at in etc opt usr/lib; do
  mkdir -p "/run/changes/$at" "/run/unused/$at"
  mount -t overlay -o "lowerdir=/$at,upperdir=/run/changes/$at,workdir=/run/unused/$at" overlay "/$at"
done
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
while IFS=: read -r _ controllers _; do
  case $controllers in
  '') at=unified kind=cgroup2 options=rw ;;
  name=systemd) at=systemd kind=cgroup options=none,name=systemd ;;
  *) at=$controllers kind=cgroup options=$controllers ;;
  esac
  mkdir "/sys/fs/cgroup/$at"
  mount -t "$kind" -o "$options" cgroup "/sys/fs/cgroup/$at"
done </proc/self/cgroup

# Docker and kind look for a route. No server for names responds at its address, so that a missing
# image fails at once.
ip link set lo up
ip link add route0 type veth peer name route1
ip addr add 192.0.2.1/24 dev route0
ip link set route0 up
ip link set route1 up
ip route add default via 192.0.2.254

libraries=$(echo "$PACKAGES_OF_ENGINE"/usr/lib/*-linux-gnu)
export PATH=$PACKAGES_OF_ENGINE/usr/bin:$PACKAGES_OF_ENGINE/usr/sbin:$PATH
LD_LIBRARY_PATH=$libraries XTABLES_LIBDIR=$libraries/xtables dockerd --data-root="$WORK/docker" --storage-driver=overlay2 \
  --oom-score-adjust=0 --dns 192.0.2.1 --add-runtime=here="$TOOLS/runtime.sh" --default-runtime=here >"$WORK/dockerd.log" 2>&1 &
for _ in {1..300}; do
  ! docker info >/dev/null 2>&1 || break
  sleep 0.2
done
docker info >/dev/null || { tail -n 20 "$WORK/dockerd.log" >&2 && exit 1; }

export KIND_IMAGE=kindest/node:$VERSION KIND_CONFIG=$TOOLS/kind.yaml GOPROXY=off
[ -e "$IMAGE" ] || "$TOOLS/node-image.sh" "$IMAGE"
docker import --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' --change 'ENV container=docker' "$IMAGE" "$KIND_IMAGE" >/dev/null
"$@"
