#!/usr/bin/env bash
# Prints the notes of the release with the given tag: the first section of CHANGELOG.md. It fails if that
# section is about another version. Links lead to the files of the tag.
set -euo pipefail

tag=$1
first=$(awk '/^## / { print $2; exit }' CHANGELOG.md)
if [ "$tag" != "v$first" ]; then
  echo "CHANGELOG.md begins with version $first, and the tag is $tag." >&2
  exit 1
fi
files=https://github.com/agentless-fleet/terraform-provider-fleet/blob/$tag
awk '/^## / { section++; next } section == 1' CHANGELOG.md | sed "s|](docs/|]($files/docs/|g"
