#!/bin/sh
# Checks every run of exchange.pml with spin, and that each of its defects is found. It
# brings spin where it may.
set -eu
cd "$(dirname "$0")"
if ! command -v spin >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	apt-get install -y -q spin >/dev/null 2>&1 || { apt-get update -q && apt-get install -y -q spin; } >/dev/null 2>&1 || true
fi
for tool in spin cc; do
	if ! command -v $tool >/dev/null; then
		echo "model: not checked: no $tool here, and it could not be brought (Debian: apt-get install spin gcc)"
		exit 0
	fi
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp exchange.pml "$dir"
cd "$dir"

# errors prints how many errors a complete search, with the given definitions, found.
errors() {
	spin -a "$@" exchange.pml >spin.out || { cat spin.out; exit 1; }
	cc -O2 -DSAFETY -DCOLLAPSE -w -o pan pan.c
	./pan -m1000000 >pan.out
	if ! grep -q 'errors: [1-9]' pan.out && grep -Eq 'Search not completed|max search depth too small' pan.out; then
		cat pan.out
		exit 1
	fi
	sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out
}

[ "$(errors)" = 0 ] || { cat pan.out; spin -t -p -g exchange.pml | tail -60; exit 1; }
echo "model: $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out) states, nothing lost, doubled or out of order"
for defect in 1 2 3; do
	[ "$(errors -DDEFECT=$defect)" != 0 ] || { echo "model: defect $defect was not noticed"; exit 1; }
done
echo "model: each defect is noticed"
