#!/usr/bin/env bash
# An OCI runtime for a machine without CAP_SYS_RESOURCE. It removes from the settings of a container
# and of a process what nobody may do there: that capability, higher limits, a negative OOM score.
set -euo pipefail

bundle=. process='' creates=''
args=("$@")
for i in "${!args[@]}"; do
  case ${args[i]} in
  create | run | restore) creates=yes ;;
  --bundle | -b) bundle=${args[i + 1]} ;;
  --bundle=*) bundle=${args[i]#*=} ;;
  --process | -p) process=${args[i + 1]} ;;
  --process=*) process=${args[i]#*=} ;;
  esac
done

allowed='del(.rlimits)
  | (.capabilities // {}) |= map_values(map(select(. != "CAP_SYS_RESOURCE")))
  | if (.oomScoreAdj // 0) < 0 then .oomScoreAdj = 0 else . end'

edit() {
  local edited
  edited=$(jq -c "$2" "$1")
  printf '%s\n' "$edited" >"$1"
}

[ -z "$creates" ] || [ ! -f "$bundle/config.json" ] || edit "$bundle/config.json" ".process |= ($allowed)"
[ -z "$process" ] || [ ! -f "$process" ] || edit "$process" "$allowed"
exec runc "$@"
