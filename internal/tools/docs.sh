#!/usr/bin/env bash
# Writes docs/ from the schema of ./bin/terraform-provider-fleet, templates/ and examples/, with the
# Terraform CLI given. No registry is asked: the CLI takes the provider from ./bin by a development
# override, and tfplugindocs takes the schema from a file.
set -euo pipefail

cli=$1
tool=(go tool -modfile=internal/tools/go.mod tfplugindocs)
work=$PWD/.build/docs
# tfplugindocs looks a schema up under this address only; a full address is also the same for
# Terraform and OpenTofu.
address=registry.terraform.io/hashicorp/fleet

rm -rf "$work"
mkdir -p "$work"
cat >"$work/cli.tfrc" <<EOF
provider_installation {
  dev_overrides {
    "$address" = "$PWD/bin"
  }
  direct {}
}
EOF
cat >"$work/main.tf" <<EOF
terraform {
  required_providers {
    fleet = { source = "$address" }
  }
}
EOF
export TF_CLI_CONFIG_FILE=$work/cli.tfrc

"$cli" -chdir="$work" providers schema -json >"$work/printed.json"
(cd internal/tools && go run ./required) <"$work/printed.json" >"$work/schema.json"

"$cli" fmt -recursive examples
for step in generate validate; do
  if ! out=$("${tool[@]}" "$step" --provider-name fleet --providers-schema "$work/schema.json" 2>&1); then
    printf '%s\n' "$out" >&2
    exit 1
  fi
done
echo "Wrote docs/."
