#!/bin/bash
# Proves the files of this folder on a real Slurm: a controller and several nodes
# on this machine, with simulated GPUs. Needs root and Debian's or Ubuntu's
# packages of Slurm, which it installs where they are missing; `make verify-slurm`
# builds the program and runs it. It leaves nothing behind but those packages.
set -euo pipefail
LAB_PEERPROOF=$(readlink -m "${1:-$(dirname "$0")/../../bin/peerproof}")
cd "$(dirname "$0")"
[ -x "$LAB_PEERPROOF" ] || { echo "there is no program $LAB_PEERPROOF: run make verify-slurm"; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "slurmd and munged need root: run this as root, in a container or on a machine to spare"; exit 1; }
missing=
for tool in slurmctld slurmd sinfo munged; do command -v "$tool" >/dev/null || missing=$tool; done
if [ -n "$missing" ]; then
	echo "installing Slurm and MUNGE with apt"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qy --no-install-recommends \
		slurmctld slurmd slurm-client munge >/dev/null
fi
LAB=$(mktemp -d)
mkdir "$LAB/nodes"
export LAB LAB_PEERPROOF
# shellcheck source=ci/slurm/verify/cluster.sh
. verify/cluster.sh
trap 'cluster_stop || :; rm -rf "$LAB"' EXIT

# becomes NODE [FAULT]: the node's GPUs are healthy but for that fault.
becomes() {
	{
		cat verify/healthy.yaml
		echo "name: $1"
		[ $# -lt 2 ] || echo "faults: [$2]"
	} >"$LAB/nodes/.new"
	mv "$LAB/nodes/.new" "$LAB/nodes/$1.yaml"
}
runs() { grep -c " $1 " "$LAB/runs.log" || :; }
more_runs() { [ "$(runs "$1")" -gt "$2" ]; }
at_work() { [[ $(state "$1") =~ ^(mixed|allocated)$ ]]; }
# job SECONDS FLAG...: a job that says where it is and takes so long; prints its id.
job() { sbatch --parsable --output "$LAB/log/job-%j" "${@:2}" verify/job.sh "$1"; }
# said JOB PATTERN: a line of the job's output matches the whole pattern.
said() { grep -qx -- "$2" "$LAB/log/job-$1" 2>/dev/null; }
over() { scontrol --oneliner show job "$1" | grep -Eq 'JobState=(COMPLETED|FAILED)'; }
links='{kind: links-down, gpu: 1, links: [3, 4]}'
context='{kind: context, gpu: 1, error: 2}'
hang='{kind: hang, pair: [0, 1]}'

echo "== a cluster of $(slurmd -V)"
for name in n1 n2 n3 n4 n5; do becomes "$name"; done
cluster_start n1 n2 n3 n4 n5
# The scripts as a user would copy them, beside settings of this cluster.
cp gate.sh healthcheck.sh prolog.sh verify/peerproof-simulated "$LAB/etc"
cat >"$LAB/etc/peerproof.env" <<ENV
PEERPROOF=$LAB/etc/peerproof-simulated
PEERPROOF_RUNS=$LAB/runs
PEERPROOF_PROLOG_SKIP=acceptance
export LAB=$LAB LAB_PEERPROOF=$LAB_PEERPROOF SLURM_CONF=$SLURM_CONF
ENV
touch "$LAB/runs.log"

echo "== the health check"
becomes n2 "$links"
becomes n3 "$links"
scontrol update NodeName=n3 State=DRAIN Reason="fan replaced, ask the lab"
job 12 --nodelist n4 --gres gpu:2 >/dev/null
await 10 "a job runs on n4" at_work n4
becomes n4 "$links"
becomes n5 "$hang"
cluster_checks "HealthCheckProgram=$LAB/etc/healthcheck.sh" "HealthCheckInterval=4" "HealthCheckNodeState=ANY"
await 30 "n2, whose links are down, is drained with the reason" \
	drained n2 'SIMULATED fail links-down link/nvlink-active\[gpu1\] serial [0-9]+ \(peerproof\)'
[ "$(runs n4)" -eq 0 ] || fail "n4 was tested under a job"
await 40 "n4 is tested after its job, and drained" drained n4 'SIMULATED fail links-down .*'
await 50 "n5, whose GPUs hang, is drained within slurmd's 60 s" drained n5 'SIMULATED error hang [^ ]*\[gpu0->?gpu1\] serial [0-9]+ serial [0-9]+.* \(peerproof\)'
await 20 "n1 was tested and tested again" more_runs n1 1
[ "$(state n1)" = idle ] || fail "n1 is healthy and not idle"
[ "$(runs n3)" -eq 0 ] || fail "n3 was tested while somebody had it out of service"
[ "$(why n3)" = "fan replaced, ask the lab" ] || fail "the reason of n3 was overwritten"
echo "ok: n1 stays in service; n3 keeps the reason that somebody gave"
ls "$LAB"/runs/n2-*/junit.xml >/dev/null || fail "the reports of n2 are not kept"
[ "$(find "$LAB/runs" -maxdepth 1 -type d -name "n1-*" | wc -l)" -le 1 ] || fail "folders of good runs pile up"
sinfo --list-reasons --format "%75E %10u %N"

echo "== a mistake in the settings drains nothing"
before=$(runs n1)
echo 'PEERPROOF_ARGS="--profile no-such-profile"' >>"$LAB/etc/peerproof.env"
await 20 "n1 was tested with it" more_runs n1 "$before"
await 20 "slurmd's log names the mistake" grep -q 'could not be tested (exit 4).*no-such-profile' "$LAB/log/n1"
[ "$(state n1)" = idle ] || fail "n1 was drained for a mistake in the settings"
sed -i '$d' "$LAB/etc/peerproof.env"

echo "== the prolog"
for name in n2 n3 n4 n5; do
	becomes "$name"
	scontrol update NodeName="$name" State=RESUME
done
cluster_checks "Prolog=$LAB/etc/prolog.sh" "HealthCheckInterval=0"
await 60 "all nodes are idle" all_idle 5
becomes n1 "$context" # no health check may see that
: >"$LAB/runs.log"
first=$(job 15 --gres gpu:1)
await 20 "a job with gpu0 of n1, whose gpu1 is broken, runs" said "$first" 'n1 has gpu 0, restarts 0'
[ "$(awk '{print $2, $3}' "$LAB/runs.log")" = "n1 0" ] || fail "the prolog did not test exactly gpu0 of n1: $(cat "$LAB/runs.log")"
at_work n1 || fail "n1 is not in service"
second=$(job 0 --gres gpu:1)
await 20 "the job that gets gpu1 is not begun, n1 is drained with the reason" \
	drained n1 'SIMULATED fail context-failed inventory/context\[gpu1\] serial [0-9]+ \(peerproof\)'
await 90 "it is requeued, and runs on n2" said "$second" 'n2 has gpu 0, restarts 1'
before=$(wc -l <"$LAB/runs.log")
third=$(job 0)
await 20 "a job without GPUs runs" said "$third" "n2 has gpu none, restarts 0"
[ "$(wc -l <"$LAB/runs.log")" -eq "$before" ] || fail "a job without GPUs was tested"

echo "== the acceptance job"
becomes n3 "$links"
becomes n4 "$links"
echo "no node file" >"$LAB/nodes/n5.yaml"
job=$(PEERPROOF=$LAB/etc/peerproof-simulated PEERPROOF_RUNS=$LAB/accepted sbatch --parsable --partition acceptance --nodelist n[2-5] \
	--gpus-per-node 2 --output "$LAB/log/job-%j" acceptance.sbatch -k "inventory or link or transfer/copy")
await 90 "the job over n2 to n5 is over" over "$job"
cat "$LAB/log/job-$job"
scontrol --oneliner show job "$job" | grep -q 'JobState=FAILED.*ExitCode=4:0' || fail "the job did not fail with its worst exit code"
[ "$(find "$LAB/accepted" -name results.json | wc -l)" -eq 3 ] || fail "not every node left a run"
if ! grep -q '"n3"' "$LAB/accepted/fleet.json" || ! [ -s "$LAB/accepted/fleet.html" ]; then
	fail "there is no report over the nodes"
fi
said "$job" 'n2: SIMULATED PARTIAL pass, [0-9]* of [0-9]* specs passed' || fail "n2 did not pass"
for name in n3 n4; do
	said "$job" "$name: SIMULATED fail links-down link/nvlink-active\[gpu1\] serial [0-9]*" || fail "$name is not named"
done
said "$job" 'n5: NO RUN.*' || fail "nobody misses the run of n5"
echo "== all proven, in $SECONDS s"
