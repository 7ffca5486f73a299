#!/usr/bin/env bash
# Creates three kind clusters, runs the acceptance tests on them and removes them, whatever happens.
set -euo pipefail

kind=(go tool -modfile=internal/tools/go.mod kind)
clusters=(fleet-test-1 fleet-test-2 fleet-test-3)
contexts=("${clusters[@]/#/kind-}")
kubeconfig=$PWD/.build/kind/kubeconfig

if ! docker info >/dev/null 2>&1; then
  echo "kind needs a running Docker daemon, and 'docker info' finds none. Without Docker: make testacc" >&2
  exit 1
fi

cleanup() {
  for cluster in "${clusters[@]}"; do
    "${kind[@]}" delete cluster --kubeconfig "$kubeconfig" --name "$cluster" || true
  done
  rm -rf "${kubeconfig%/*}"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

mkdir -p "${kubeconfig%/*}"
for cluster in "${clusters[@]}"; do
  "${kind[@]}" create cluster --kubeconfig "$kubeconfig" --name "$cluster" --wait 3m
done

FLEET_TEST_KUBECONFIG=$kubeconfig \
  FLEET_TEST_CONTEXTS=$(IFS=, && echo "${contexts[*]}") \
  "${MAKE:-make}" --no-print-directory testacc
