#!/usr/bin/env bash
# Runs each make target given as one suite of tests, all of them even if one fails, and closes with
# the time of each suite and go test's own line for each package.
set -uo pipefail
trap 'exit 130' INT TERM

logs=.build/suites
rm -rf "$logs"
mkdir -p "$logs"

status=0
summary=()
for suite in "$@"; do
  printf '\n== %s\n' "$suite"
  start=$SECONDS
  outcome=passed
  if ! "${MAKE:-make}" --no-print-directory "$suite" 2>&1 | tee "$logs/$suite.log"; then
    outcome=FAILED
    status=1
  fi
  summary+=("$(printf '%-18s %-7s %4d s' "$suite" "$outcome" $((SECONDS - start)))")
done

printf '\n== suites\n'
printf '%s\n' "${summary[@]}"
printf '%-18s %-7s %4d s\n' total '' "$SECONDS"
for suite in "$@"; do
  if packages=$(grep -E '^(ok|FAIL|--- FAIL:|panic:)[[:space:]]' "$logs/$suite.log"); then
    printf '\n== packages of %s\n%s\n' "$suite" "$packages"
  fi
done

exit "$status"
