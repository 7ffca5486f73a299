#!/usr/bin/env bash
# Prints an expression for go test -run that matches the tests in the files of the given name, below the
# folders after it if there are any. With RUN, only those whose name matches it.
set -euo pipefail
run=${RUN:-.}
match=${run%%/*} # Without the names of rows.
[ $# -gt 1 ] || set -- "$1" .

names=$(grep -rhoE --include="$1" --exclude-dir='.?*' '^func Test[A-Z0-9_][A-Za-z0-9_]*' "${@:2}" | cut -d' ' -f2 | sort -u | { grep -E -- "${match:-.}" || true; } | paste -sd'|')
echo "^($names)\$"
