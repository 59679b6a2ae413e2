#!/usr/bin/env bash
# make verify-release: builds a release of this commit twice, here and in a clone
# in another-folder, and wants the same bytes; runs the program in a Debian 11
# (glibc 2.31) and the arm64 one in an emulator; lets a second parser read the
# SBOMs. Needs root (chroot), apt and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages debootstrap gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static proot xz-utils
command -v npm >/dev/null || packages nodejs npm
[ "$(id -u)" = 0 ] || { echo "verify-release: needs root for the chroot" >&2; exit 1; }
fail() { echo "verify-release: $*" >&2; exit 1; }
work=$(mktemp -d)
cleanup() {
	umount "$work/bullseye/proc" 2>/dev/null || true
	# Never remove what lies under a mount that would not go.
	mountpoint -q "$work/bullseye/proc" || rm -rf "$work"
}
trap cleanup EXIT
step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "a release here"
ARCHES="amd64 arm64" ci/release/build.sh

step "amd64 again, in a clone elsewhere, with an empty build cache"
git clone -q . "$work/another-folder"
(cd "$work/another-folder" && GOCACHE=$work/cache ARCHES=amd64 ci/release/build.sh) >"$work/log" 2>&1 ||
	{ cat "$work/log"; fail "the second build failed"; }
diff <(grep -F amd64 dist/SHA256SUMS) <(grep -F amd64 "$work/another-folder/dist/SHA256SUMS") || fail "two builds of one commit differ"
rm -rf "$work/cache"
echo "the same bytes"

step "SBOMs, read by another parser against CycloneDX's schema"
npm install --silent --no-audit --no-fund --prefix "$work/npm" @cyclonedx/cyclonedx-library@7.1.0 ajv@8 ajv-formats@3 ajv-formats-draft2019@1
cat >"$work/npm/check.cjs" <<'JS'
const { readFileSync } = require("node:fs");
const { Spec, Validation } = require("@cyclonedx/cyclonedx-library");
(async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  for (const file of process.argv.slice(2)) {
    const text = readFileSync(file, "utf8");
    const problem = await validator.validate(text);
    const broken = await validator.validate(text.replace('"components"', '"komponents"'));
    if (problem !== null) { console.error(file, JSON.stringify(problem)); process.exit(1); }
    if (broken === null) { console.error("the schema finds nothing wrong in a broken SBOM"); process.exit(1); }
    console.log(file, JSON.parse(text).components.length, "components, valid");
  }
})().catch((e) => { console.error(e); process.exit(1); });
JS
node "$work/npm/check.cjs" dist/*.cdx.json

step "the program on Debian 11, glibc 2.31"
mkdir "$work/x"
for file in dist/*.tar.gz; do tar -C "$work/x" -xf "$file"; done
debootstrap --variant=minbase bullseye "$work/bullseye" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1 || { tail "$work/log"; fail "no Debian 11"; }
cp "$work"/x/*-amd64/peerproof "$work/bullseye/usr/local/bin/"
mount -t proc proc "$work/bullseye/proc"
chroot "$work/bullseye" ldd --version | head -n 1
chroot "$work/bullseye" peerproof version
chroot "$work/bullseye" peerproof run -q --node single --out /run1
[ -s "$work/bullseye/run1/junit.xml" ] || fail "no report"

step "the arm64 program in an emulator"
# peerproof runs itself again as its children; proot hands those to the emulator
# too, without a setting of the kernel.
arm=$(echo "$work"/x/*-arm64/peerproof)
emulated() { proot -q "qemu-aarch64-static -L $PWD/bin/sysroot/arm64" "$arm" "$@"; }
emulated version
native=$("$work/bullseye/usr/local/bin/peerproof" list --node hgx-h200-8 | sha256sum)
[ "$(emulated list --node hgx-h200-8 | sha256sum)" = "$native" ] || fail "arm64 plans other specs than amd64"
echo "arm64 plans what amd64 plans"
emulated run -q --node nvl72-tray --profile nvl72-tray --out "$work/arm"
[ -s "$work/arm/junit.xml" ] || fail "no report of arm64"

step "verify-release: done"
