#!/usr/bin/env bash
# Creates three kind clusters, runs the acceptance tests on them and removes them, whatever happens.
# KIND_IMAGE is the image of their nodes and KIND_CONFIG the file of their configuration, as in
# "kind create cluster". The kubeconfig of the user stays unchanged.
set -euo pipefail

kind=(go tool -modfile=internal/tools/go.mod kind)
clusters=(fleet-test-1 fleet-test-2 fleet-test-3)
contexts=("${clusters[@]/#/kind-}")
dir=$PWD/.build/kind
kubeconfig=$dir/kubeconfig
options=(--wait 3m)
[ -z "${KIND_IMAGE:-}" ] || options+=(--image "$KIND_IMAGE")
[ -z "${KIND_CONFIG:-}" ] || options+=(--config "$KIND_CONFIG")

if ! docker info >/dev/null 2>&1; then
  echo "kind needs a running Docker daemon, and 'docker info' finds none. Without Docker: make testacc" >&2
  exit 1
fi

cleanup() {
  "${kind[@]}" delete clusters --kubeconfig "$kubeconfig" "${clusters[@]}" || true
  rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# create writes a kubeconfig of its own, because kind fails if another kind writes the same file.
create() {
  "${kind[@]}" create cluster --name "$1" --kubeconfig "$dir/$1" "${options[@]}"
  for image in "$dir"/images/*.tar; do
    [ -e "$image" ] || continue
    "${kind[@]}" load image-archive "$image" --name "$1"
  done
  in_cluster "$1" create serviceaccount fleet-test
  in_cluster "$1" create clusterrolebinding fleet-test --clusterrole=cluster-admin --serviceaccount=kube-system:fleet-test
}

# in_cluster runs kubectl in the node of a cluster, with all rights.
in_cluster() {
  docker exec "$1-control-plane" kubectl --kubeconfig /etc/kubernetes/admin.conf --namespace kube-system "${@:2}"
}

# export_kubeconfig adds a cluster to the kubeconfig of the tests. Many tests put a proxy before the API
# server, which no client certificate passes. So they get a token.
export_kubeconfig() {
  local token
  token=$(in_cluster "$1" create token fleet-test --duration 24h)
  "${kind[@]}" export kubeconfig --name "$1" --kubeconfig "$kubeconfig"
  sed -i.bak -e "s/client-certificate-data: .*/token: $token/" -e /client-key-data:/d "$kubeconfig"
  rm "$kubeconfig.bak"
}

mkdir -p "$dir/images"
# Elsewhere the nodes pull the images.
[ "$(uname)" != Linux ] || go run ./internal/testenv/cmd/testenv images --dir "$dir/images"
"${kind[@]}" version
creating=()
for cluster in "${clusters[@]}"; do
  create "$cluster" >"$dir/$cluster.log" 2>&1 &
  creating+=($!)
done
failed=0
for i in "${!clusters[@]}"; do
  wait "${creating[i]}" || failed=1
  cat "$dir/${clusters[i]}.log"
done
[ "$failed" = 0 ] || exit 1
for cluster in "${clusters[@]}"; do
  export_kubeconfig "$cluster"
done

FLEET_TEST_KUBECONFIG=$kubeconfig \
  FLEET_TEST_CONTEXTS=$(IFS=, && echo "${contexts[*]}") \
  "${MAKE:-make}" --no-print-directory testacc
