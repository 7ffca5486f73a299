#!/usr/bin/env bash
# Builds all files of a release into dist/ for the version that CHANGELOG.md begins with, and publishes
# nothing. It signs them with a key of its own. Then Terraform and OpenTofu install the archive for this
# machine from mirrors and from a registry.
set -euo pipefail

name=terraform-provider-fleet
VERSION=$(awk '/^## / { print $2; exit }' CHANGELOG.md)
internal/tools/notes.sh "v$VERSION" >/dev/null

keys=$(mktemp -d /tmp/fleet-release-XXXXXX)
export VERSION GNUPGHOME=$keys
trap 'gpgconf --kill all; rm -rf "$keys"' EXIT
gpg --batch --quiet --passphrase '' --quick-generate-key 'release-snapshot <snapshot@example.com>' rsa3072 sign 1d
GPG_FINGERPRINT=$(gpg --batch --with-colons --list-secret-keys | awk -F: '$1 == "fpr" { print $10; exit }')
export GPG_FINGERPRINT
gpg --batch --armor --export >"$keys/public.asc"

# Nine platforms need an hour of one core from an empty cache. By default goreleaser stops after an hour.
go tool -modfile=internal/tools/goreleaser/go.mod goreleaser release --snapshot --clean --timeout 6h

# goreleaser uploads this file, but does not write it.
sums=${name}_${VERSION}_SHA256SUMS
cp terraform-registry-manifest.json "dist/${name}_${VERSION}_manifest.json"
(cd dist && sha256sum --check --strict --quiet "$sums" && gpg --batch --verify "$sums.sig" "$sums")
for platform in {darwin,freebsd,windows}_{amd64,arm64} linux_{amd64,arm,arm64}; do
  for file in "${name}_${VERSION}_$platform".{zip,cdx.json}; do
    grep -Eq "^[0-9a-f]{64}  $file\$" "dist/$sums" || { echo "There is no $file in $sums." >&2 && exit 1; }
  done
  grep -Fq '"name": "helm.sh/helm/v3"' "dist/${name}_${VERSION}_$platform.cdx.json" || { echo "The list of modules for $platform does not have Helm." >&2 && exit 1; }
done

export TF_ACC=1 FLEET_TEST_RELEASE=$PWD/dist FLEET_TEST_RELEASE_KEY=$keys/public.asc
for cli in terraform-1.16 tofu; do
  FLEET_TEST_CLI=$cli go test -count=1 -timeout 20m -run '^TestAccProviderInstallation$' ./internal/acceptance
done
echo "Version $VERSION was built for 9 platforms, and Terraform and OpenTofu have installed it on this one."
