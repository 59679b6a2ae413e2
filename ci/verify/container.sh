#!/usr/bin/env bash
# make verify-container: ci/container/Containerfile built by buildah on a Debian
# root made here (registries need not be reached), the image's settings, and a
# run inside it. Needs root and apt (buildah, debootstrap).
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages buildah crun debootstrap
[ "$(id -u)" = 0 ] || { echo "verify-container: needs root for debootstrap" >&2; exit 1; }
work=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
b() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }
trap 'b rm --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
fail() { echo "verify-container: $*" >&2; exit 1; }

debootstrap --variant=minbase bookworm "$work/root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1 || { tail "$work/log"; fail "no Debian 12"; }
tar -C "$work/root" -cf "$work/root.tar" .
base=$(b from scratch)
b add -q "$base" "$work/root.tar" / >/dev/null
b commit -q "$base" localhost/debian:12-slim >/dev/null
b rm "$base" >/dev/null

mkdir "$work/context"
cp bin/peerproof "$work/context/"
b build -q --build-arg BASE=localhost/debian:12-slim -f ci/container/Containerfile -t peerproof "$work/context" >"$work/log" 2>&1 || { cat "$work/log"; fail "the image does not build"; }
config=$(b inspect --type image peerproof | tr -d ' \n\t')
for want in NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility '"Entrypoint":\["/usr/local/bin/peerproof"\]' '"Cmd":\["run"\]' '"WorkingDir":"/reports"'; do
	grep -qE -- "$want" <<<"$config" || fail "the image has no $want"
done
echo "built, with the settings that the container toolkit reads"

c=$(b from localhost/peerproof)
b run "$c" -- /usr/local/bin/peerproof version
b run "$c" -- /usr/local/bin/peerproof run -q --node single --out /reports/run
mount=$(b mount "$c")
[ -s "$mount/reports/run/junit.xml" ] || fail "no report in /reports"
# Without a GPU and the driver nothing is tested, and that is not a success.
code=0
b run "$c" -- /usr/local/bin/peerproof run -q --out /reports/real >"$work/log" 2>&1 || code=$?
[ -e /dev/nvidiactl ] || [ $code = 5 ] || { cat "$work/log"; fail "no GPU: exit $code, expected 5"; }
[ -z "$(find "$mount" -xdev -iname '*cuda*' -not -path '*/proc/*' -print -quit)" ] || fail "the image holds something of CUDA"
b push -q peerproof "oci:$work/layout:latest"
[ -s "$work/layout/index.json" ] || fail "no OCI layout"
echo "verify-container: runs, exits 5 without a GPU, done in $SECONDS s"
