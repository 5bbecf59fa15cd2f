#!/usr/bin/env bash
# What the first two commands of the README cost: `npm ci` and `npm run demo -- --once`, in a clone of its own for each Node.
#   bench/install.sh <revision> <node>...    prints one row of docs/install-figures.md for each
# <node> is the path of a program; npm is the machine's own and runs on it.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
revision=$1
shift
npm=$(command -v npm)
work=$(mktemp -d "${TMPDIR:-/tmp}/perpscope-install-XXXXXX")
trap 'rm -rf "$work"' EXIT

# Seconds of a command with one decimal; its output goes to $work/out, its exit code into the answer.
timed() {
  local began ended code=0
  began=$(date +%s%N)
  "$@" >"$work/out" 2>&1 || code=$?
  ended=$(date +%s%N)
  awk -v ns="$((ended - began))" -v code="$code" \
    'BEGIN { printf "%.1f%s", ns / 1e9, code == 0 ? "" : " (failed, code " code ")" }'
}

echo '| revision | Node of the machine | npm | `npm ci`, s | MB | packages | warnings | demo, s | Node of the scripts |'
echo '|---|---|---|---|---|---|---|---|---|'
for node in "$@"; do
  mkdir -p "$work/bin" && ln -sf "$node" "$work/bin/node"
  rm -rf "$work/clone"
  git clone --quiet "$repository" "$work/clone"
  git -C "$work/clone" checkout --quiet --detach "$revision"
  (
    cd "$work/clone"
    PATH="$work/bin:$PATH"
    install=$(timed "$npm" ci)
    warnings=$(grep -c '^npm warn' "$work/out" || true)
    cp "$work/out" "${TMPDIR:-/tmp}/perpscope-install-$(node --version).log"
    megabytes=$(du -sm node_modules | cut -f1)
    packages=$(find node_modules -name package.json -not -type l | grep -cE 'node_modules/(@[^/]+/)?[^/@]+/package\.json$' || true)
    demo=$(timed "$npm" run demo -- --once)
    cp "$work/out" "${TMPDIR:-/tmp}/perpscope-demo-$(node --version).log"
    scripts=$("$npm" exec --silent -c 'node --version')
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$(git rev-parse --short HEAD)" \
      "$(node --version)" "$("$npm" --version)" "$install" "$megabytes" "$packages" "$warnings" "$demo" "$scripts"
  )
done
