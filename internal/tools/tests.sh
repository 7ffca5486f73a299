#!/usr/bin/env bash
# Prints an expression for go test -run that matches the tests in the files of the given name.
set -euo pipefail

names=$(grep -rhoE --include="$1" --exclude-dir='.?*' '^func Test[A-Z0-9_][A-Za-z0-9_]*' . | cut -d' ' -f2 | sort -u | paste -sd'|')
echo "^($names)\$"
