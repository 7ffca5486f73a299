#!/usr/bin/env bash
# Runs each make target given as one suite of tests, all of them even if one fails, and closes with
# the time of each suite and go test's own line for each package. Targets joined by + run at the same
# time. The suites share three clusters, unless FLEET_TEST_KUBECONFIG names clusters.
set -uo pipefail
trap 'exit 130' INT TERM
trap unshare EXIT

logs=.build/suites
rm -rf "$logs"
mkdir -p "$logs"

# share runs the clusters. Without them each test binary runs its own. They end with this script,
# because that closes their standard input.
share() {
  mkfifo "$logs/in" "$logs/out"
  go run ./internal/testenv/cmd/testenv up --dir "$logs/clusters" <"$logs/in" >"$logs/out" &
  clusters=$!
  exec 3>"$logs/in"
  if read -r line <"$logs/out"; then
    echo "testenv: $line"
    export FLEET_TEST_SHARED=$PWD/$logs/clusters/kubeconfig
  fi
  rm "$logs/in" "$logs/out"
}

unshare() {
  unset FLEET_TEST_SHARED
  if [ -n "${clusters:-}" ]; then
    exec 3>&-
    wait "$clusters"
    clusters=
  fi
}

status=0
summary=()
for suite in "$@"; do
  printf '\n== %s\n' "$suite"
  start=$SECONDS
  outcome=passed
  case $suite${FLEET_TEST_KUBECONFIG:+-existing} in
  testacc) share ;;
  esac
  IFS=+ read -ra targets <<<"$suite"
  together=()
  [ "${#targets[@]}" = 1 ] || together=(--keep-going --jobs="${#targets[@]}" --output-sync=target)
  if ! "${MAKE:-make}" --no-print-directory ${together[@]+"${together[@]}"} "${targets[@]}" 2>&1 3>&- | tee "$logs/$suite.log" 3>&-; then
    outcome=FAILED
    status=1
  fi
  summary+=("$(printf '%-32s %-7s %4d s' "$suite" "$outcome" $((SECONDS - start)))")
done

unshare

printf '\n== suites\n'
printf '%s\n' "${summary[@]}"
printf '%-32s %-7s %4d s\n' total '' "$SECONDS"
for suite in "$@"; do
  if packages=$(grep -E '^(ok|FAIL|--- FAIL:|panic:)[[:space:]]' "$logs/$suite.log"); then
    printf '\n== packages of %s\n%s\n' "$suite" "$packages"
  fi
done

exit "$status"
