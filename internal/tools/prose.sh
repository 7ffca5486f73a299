#!/usr/bin/env bash
# Reports phrases that a reader has to decode, in texts that users see: Go strings outside tests,
# the README, docs/ and its templates. The comment above a pattern has the plain word.
# Strings are found line by line, so the inner lines of a raw string are not read.
# Usage: internal/tools/prose.sh [FILE...], all files of the repository without arguments.
set -euo pipefail

patterns=(
  # A cluster or server "does not respond" or "is unreachable". It is not a person.
  '(do|does|did|can|could) ?not answer|[Aa]nswers '
  # "already exist".
  '(are|is) there already'
  # "started", "installed".
  'was begun|not begun|[Tt]o be begun'
  # "corrects", "reverts", "restores".
  '\bputs? (this|it|that|what [a-z ]+) (right|back)\b'
  # Name who does nothing with which object, and why.
  'Nothing is done'
  # "is not available", "is not returned by".
  'cannot be had'
  # "Make the cluster reachable".
  'Bring the cluster back'
  # "was read", "is stored".
  'was noted'
  # "again".
  '\banew\b'
  # "any user who", "the owner".
  '\b[Ww]hoever\b'
  # "if you intend this", or the name of the thing.
  '(is|was|are|were) meant\b'
  # "the removed releases".
  '\b[Ww]hat left\b'
  # "The objects of these charts".
  'What (these|this|the) [a-z]+ gives?\b'
  # "is held", "is paused".
  '\bholds? (it|them|everything) back\b'
  # "cannot read".
  '\b(cannot|not be|could not be) look(ed)? at\b|[Ll]ooking at the (cluster|objects)'
  # "adopts".
  '\b[Tt]akes? (it|them) up\b|\b[Tt]akes? up releases'
  # "is stored in", "is in".
  '\bstands? in (state|plan|the state|the plan)\b'
  # "another owner", "another user".
  '\b[Ss]omebody (else|unknown)\b'
)

# quoted prints the quoted strings of a line of Go. A line comment has none.
quoted() { sed -E '/^[[:space:]]*\/\//d; s/([;{}),[:space:]])\/\/ [^"`]*$/\1/' <<<"$1" | grep -oE '"([^"\\]|\\.)*"|`[^`]*`?' || true; }

files=("$@")
if [ $# -eq 0 ]; then
  mapfile -t files < <(git ls-files '*.go' ':!*_test.go' 'README.md' 'docs/*.md' 'templates/*.tmpl')
fi

# One grep over all files finds the few lines that can have a phrase.
any=$(IFS='|'; echo "${patterns[*]}")
found=0
while IFS=: read -r file line text; do
  case $file in
  *.go) text=$(quoted "$text") ;;
  esac
  for pattern in "${patterns[@]}"; do
    if grep -qE -- "$pattern" <<<"$text"; then
      printf '%s:%s: /%s/: %.160s\n' "$file" "$line" "$pattern" "${text//$'\n'/ }"
      found=1
    fi
  done
done < <(grep -nHE -- "$any" "${files[@]}" /dev/null || true)
exit "$found"
