#!/usr/bin/env bash
# Builds all files of a release but the signature into dist/, publishes nothing, and installs the one for
# this machine as users do: terraform init takes it from a folder, in a home without any settings.
set -euo pipefail

name=terraform-provider-fleet
go tool -modfile=internal/tools/goreleaser/go.mod goreleaser release --snapshot --clean --skip=sign
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)

# goreleaser uploads this file, but does not write it.
cp terraform-registry-manifest.json "dist/${name}_${version}_manifest.json"
(cd dist && sha256sum --check --strict --quiet "${name}_${version}_SHA256SUMS")
archives=$(find dist -name '*.zip' | wc -l)
listed=$(wc -l <"dist/${name}_${version}_SHA256SUMS")
if [ "$archives" -ne 8 ] || [ "$listed" -ne 9 ]; then
  echo "There are $archives archives, want 8, and $listed checksums, want 9." >&2
  exit 1
fi

cli=$(go run ./internal/testenv/cmd/testenv cli)
machine=$(mktemp -d /tmp/fleet-release-XXXXXX)
trap 'rm -rf "$machine"' EXIT
source=registry.terraform.io/agentless-fleet/fleet
mkdir -p "$machine/mirror/$source" "$machine/home" "$machine/config"
cp "dist/${name}_${version}_$(go env GOOS)_$(go env GOARCH).zip" "$machine/mirror/$source/"
cat >"$machine/cli.tfrc" <<END
provider_installation {
  filesystem_mirror { path = "$machine/mirror" }
}
END
cat >"$machine/config/main.tf" <<END
terraform {
  required_providers {
    fleet = {
      source  = "$source"
      version = "$version"
    }
  }
}

provider "fleet" {
  owner = "release"
}

resource "fleet_bundle" "hello" {
  name  = "hello"
  files = { "hello.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\n" }
}

output "bundles" { value = keys(fleet_bundle.hello.contents) }
END

run() {
  echo "$(basename "$cli") $*"
  (cd "$machine/config" && env -i PATH=/usr/bin:/bin HOME="$machine/home" TF_CLI_CONFIG_FILE="$machine/cli.tfrc" CHECKPOINT_DISABLE=1 "$cli" "$@")
}
run init -input=false -no-color
run apply -input=false -no-color -auto-approve
run plan -input=false -no-color -detailed-exitcode
if ! run version -json | grep -Fq "\"$source\": \"$version\""; then
  echo "terraform version does not report version $version of the provider." >&2
  exit 1
fi
run destroy -input=false -no-color -auto-approve
echo "Version $version was built for 8 platforms and installed on this one."
