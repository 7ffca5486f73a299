#!/usr/bin/env bash
# Brings generated files, module lists and format up to date in the tree and fails if that changed
# anything, saying what. It compares with the tree as it was, so it also works amid a change.
set -euo pipefail

# tree prints the id of a git tree of all files that are not ignored, without touching the index.
tree() (
  GIT_INDEX_FILE=$(mktemp)
  export GIT_INDEX_FILE
  trap 'rm -f "$GIT_INDEX_FILE"' EXIT
  git read-tree --empty
  git add --all .
  git write-tree
)

before=$(tree)
"${MAKE:-make}" --no-print-directory generate fmt
git ls-files --cached --others --exclude-standard -- go.mod '*/go.mod' | while read -r mod; do
  echo "go mod tidy in $(dirname "$mod")"
  (cd "$(dirname "$mod")" && go mod tidy)
done
after=$(tree)

if [ "$before" != "$after" ]; then
  git --no-pager diff --stat --patch "$before" "$after" -- . ':(exclude)*go.sum'
  git --no-pager diff --stat "$before" "$after" -- '*go.sum'
  echo "These files were not up to date. They are now: look at them and commit them." >&2
  exit 1
fi
echo "Generated files, module lists and format are up to date."
