#!/usr/bin/env bash
# make verify-systemd: ci/systemd with systemd-analyze, and the service's command
# with its default and with other arguments. Needs apt (systemd).
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages systemd
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "verify-systemd: $*" >&2; exit 1; }
# The program is named where a package puts it; here it lies elsewhere.
for unit in service timer; do
	sed "s|/usr/bin/peerproof|$PWD/bin/peerproof|" "ci/systemd/peerproof.$unit" >"$work/peerproof.$unit"
done
out=$(systemd-analyze verify --man=no "$work"/peerproof.{service,timer} 2>&1) || fail "$out"
[ -z "$out" ] || fail "$out"
# systemd only warns of what it does not know: the line above must have seen it.
sed 's/LockPersonality/LockPersonalty/' "$work/peerproof.service" >"$work/misspelt.service"
systemd-analyze verify --man=no "$work/misspelt.service" 2>&1 | grep -q Unknown || fail "a misspelt setting went unseen"
echo "systemd-analyze verify: nothing to say"
systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' ci/systemd/peerproof.timer)" >/dev/null
# What hides the GPUs must stay away.
! grep -qE '^(PrivateDevices|DevicePolicy|DeviceAllow|MemoryDenyWriteExecute)=' ci/systemd/peerproof.service || fail "a setting hides /dev/nvidia*"

command=$(sed -n 's/^ExecStart=//p' "$work/peerproof.service")
mkdir "$work/state"
# systemd splits an unbraced variable into words, as the shell does here.
start() { (cd "$work/state" && PEERPROOF_ARGS=$1 sh -c "$command") >"$work/log" 2>&1; }
start "--preset gate --node single --out healthy" || { cat "$work/log"; fail "the command failed on a healthy node"; }
[ -s "$work/state/healthy/junit.xml" ] || fail "no report"
code=0
start "--preset gate --node single --profile hgx-h200-8 --out broken" || code=$?
[ $code = 1 ] || { cat "$work/log"; fail "seven missing GPUs: exit $code, expected 1"; }
echo "the service's command: exit 0 on a healthy node, 1 on a broken one, reports in both"
echo "verify-systemd: done in $SECONDS s"
