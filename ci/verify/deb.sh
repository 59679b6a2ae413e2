#!/usr/bin/env bash
# make verify-deb: builds the .deb, asks lintian, installs it in a clean Debian 12
# made for this, runs a simulated server there, and removes it all again. Needs
# root (debootstrap, chroot) and apt.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages debootstrap lintian xz-utils
[ "$(id -u)" = 0 ] || { echo "verify-deb: needs root: it makes a clean Debian with debootstrap and installs there" >&2; exit 1; }
fail() { echo "verify-deb: $*" >&2; exit 1; }
step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }
node=${NODE:-hgx-h200-8}
work=$(mktemp -d)
root=$work/root
cleanup() {
	umount "$root/proc" 2>/dev/null || true
	# Never remove what lies under a mount that would not go.
	mountpoint -q "$root/proc" || rm -rf "$work"
}
trap cleanup EXIT

step "the package"
DIST=$work/dist ARCHES=$(dpkg --print-architecture) ci/release/build.sh >"$work/log" 2>&1 || { cat "$work/log"; fail "no release"; }
deb=$(echo "$work"/dist/*.deb)
dpkg-deb -I "$deb" | sed -n '/Package:/,$p'

step "lintian"
lintian --allow-root --fail-on error,warning --info "$deb"
echo "lintian: no errors, no warnings"

step "a clean Debian 12"
debootstrap --variant=minbase bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1 || { tail "$work/log"; fail "no Debian 12"; }
mount -t proc proc "$root/proc"
cp "$deb" "$root/tmp/"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
inside apt-get install -qy --no-install-recommends "/tmp/$(basename "$deb")" >"$work/log" 2>&1 || { cat "$work/log"; fail "the package does not install"; }
inside dpkg -s peerproof | grep -E '^(Status|Version)'
inside dpkg -V peerproof
inside peerproof version

step "peerproof run --node $node there"
inside peerproof run -q --node "$node" --profile "$node" --out /root/run || fail "exit $?, expected 0"
for file in journal.jsonl node.json results.json junit.xml; do
	[ -s "$root/root/run/$file" ] || fail "the run left no $file"
done
grep -q '"exit": *0' "$root/root/run/results.json" || fail "results.json does not say exit 0"

step "removed again"
inside apt-get purge -qy peerproof >"$work/log" 2>&1 || { cat "$work/log"; fail "the package cannot be removed"; }
left=$(inside find / -xdev -path /proc -prune -o -path /root -prune -o -path /var/lib/apt -prune -o -path /var/cache/apt -prune -o -path /tmp -prune -o -name '*peerproof*' -print)
[ -z "$left" ] || fail "left after purge: $left"
step "verify-deb: done"
