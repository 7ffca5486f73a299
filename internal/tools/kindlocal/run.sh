#!/usr/bin/env bash
# Runs a command beside a Docker engine of its own, whose images include a node image for kind. The
# engine is that of Debian, in namespaces and control groups of its own. Nothing is installed on the
# machine, and the engine ends with this script. Packages and the node image stay in the user's cache.
# Without a command it only checks whether the engine can run here.
set -euo pipefail

tools=$PWD/internal/tools/kindlocal
store=${XDG_CACHE_HOME:-$HOME/.cache}/terraform-provider-fleet/kindlocal
work=$PWD/.build/kindlocal
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)
groups=()
engine=''

# check prints why this machine cannot run the engine.
check() {
  [ "$(uname)" = Linux ] || { echo "it needs Linux" && return 1; }
  [ "$(id -u)" = 0 ] || { echo "it needs root, for namespaces and control groups" && return 1; }
  [ -e /etc/debian_version ] || { echo "it needs the packages of Debian" && return 1; }
  local program
  for program in jq setpriv unshare ip; do
    command -v "$program" >/dev/null || { echo "it needs the program $program" && return 1; }
  done
  [ -d /sys/fs/cgroup/memory ] || { echo "it knows version 1 of control groups only; install Docker and run make testacc-kind" && return 1; }
}

# fetch_packages unpacks Docker, and what it needs and this machine does not have. The lists of apt on
# the machine stay unchanged.
fetch_packages() {
  packages=$store/packages-$suite
  [ ! -d "$packages" ] || return 0
  local new=$packages.unfinished
  local apt=(apt-get -qq -o APT::Sandbox::User=root -o "Dir::State::lists=$new/lists" -o "Dir::Cache=$new/cache")
  rm -rf "$new"
  mkdir -p "$new/lists/partial" "$new/cache/archives/partial" "$new/usr/sbin"
  "${apt[@]}" update
  "${apt[@]}" install -y --reinstall --no-install-recommends --download-only docker.io iptables debootstrap
  for package in "$new"/cache/archives/*.deb; do dpkg-deb -x "$package" "$new"; done
  for name in iptables ip6tables; do ln -s xtables-nft-multi "$new/usr/sbin/$name"; done
  rm -rf "$new/lists" "$new/cache"
  mv "$new" "$packages"
}

# fetch_base unpacks the packages of a node of kind, unless its image is there.
fetch_base() {
  local mirror
  export IMAGE
  IMAGE=$store/node-$(cat "$tools/node-image.sh" <(declare -f fetch_base) <(readlink "$work"/programs/*) | sha256sum | cut -c1-16).tar
  [ ! -e "$IMAGE" ] || return 0
  rm -f "$store"/node-*
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sed -n 1p)
  echo "kindlocal: building the node image, about 3 minutes" >&2
  DEBOOTSTRAP_DIR=$packages/usr/share/debootstrap "$packages/usr/sbin/debootstrap" --variant=minbase \
    --include=systemd,conntrack,iptables,nftables,iproute2,ethtool,kmod,libseccomp2,ca-certificates,curl,jq,procps,hostname,openssl \
    "$suite" "$work/node" "$mirror" >"$work/debootstrap.log"
}

# make_groups makes a control group in each hierarchy, below those of this process.
make_groups() {
  local controllers path mount group
  while IFS=: read -r _ controllers path; do
    mount=/sys/fs/cgroup/${controllers#name=}
    [ -n "$controllers" ] || mount=/sys/fs/cgroup/unified
    [ -d "$mount" ] || continue
    group=$mount${path%/}/fleet-kind-$$
    mkdir "$group"
    groups+=("$group")
    if [ "$controllers" = cpuset ]; then
      for setting in cpuset.cpus cpuset.mems; do cat "$mount$path/$setting" >"$group/$setting"; done
    fi
  done </proc/self/cgroup
}

# cleanup ends all processes of the engine, which are in its namespaces, and removes its files.
cleanup() {
  [ -z "$engine" ] || kill -KILL "$engine" 2>/dev/null || true
  for group in "${groups[@]}"; do
    # A group can be removed when its last process has ended.
    for _ in {1..300}; do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
      sleep 0.1
    done
  done
  rm -rf "$work" .build/kind
}

if ! reason=$(check); then
  echo "The local Docker engine cannot run here: $reason." >&2
  exit 1
fi
[ $# -gt 0 ] || exit 0
mkdir -p "$store" .build
exec 9>.build/kindlocal.lock
flock -n 9 || { echo "Another engine of this folder runs." >&2 && exit 1; }
rm -rf "$work"
mkdir "$work"
trap cleanup EXIT
trap 'exit 130' INT TERM
fetch_packages
version=$(go run ./internal/testenv/cmd/testenv kind-programs --dir "$work/programs")
go run ./internal/testenv/cmd/testenv images --dir "$work/images" >"$work/images.log"
fetch_base
# There is no network in the namespaces: what is built there comes from the module cache.
go tool -modfile=internal/tools/go.mod kind version >"$work/kind.log"
go list -deps -test ./... >"$work/modules.log"
go list -C internal/testenv/helm -deps helm.sh/helm/v3/cmd/helm >"$work/helm.log"
go run ./internal/testenv/cmd/testenv cli >"$work/cli.log"
make_groups

export GROUPS_OF_ENGINE="${groups[*]}" TOOLS=$tools WORK=$work PACKAGES_OF_ENGINE=$packages VERSION=$version
# The groups have to be entered before the namespace of groups is made, which has them as roots.
# shellcheck disable=SC2016 # The inner shell expands it.
setpriv --pdeathsig KILL bash -ec '
  for group in $GROUPS_OF_ENGINE; do echo $$ >"$group/cgroup.procs"; done
  exec unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child=KILL --propagation private --mount-proc "$@"
' engine "$tools/engine.sh" "$@" &
engine=$!
wait "$engine"
