#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given, one after the other.
set -euo pipefail

each=$1
# file:FuzzName, one a line.
targets=$(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' internal | sed 's/:func /:/' | sort)
if [ -z "$targets" ]; then
  echo "There is no fuzz target."
  exit
fi

while IFS=: read -r file target; do
  printf '\n== %s in %s for %s\n' "$target" "$(dirname "$file")" "$each"
  # Go's fuzzer can fail with "context deadline exceeded" when its time is over. An input
  # that fails is kept beside the test, and fails again.
  fuzz() { go test -run '^$' -fuzz "^$target\$" -fuzztime "$each" "./$(dirname "$file")"; }
  fuzz || fuzz
done <<<"$targets"
