#!/bin/bash
# Verifies peerproof on a server with real GPUs: runs it, holds its figures
# against nvbandwidth, p2pBandwidthLatencyTest and nccl-tests, writes down what
# the driver really answers, and lists where a simulated node of the same shape
# answers otherwise. It changes no clock, power limit, mode or setting, and
# resets nothing. docs/real-peers.md tells how to use it.
#
#   ci/verify/real.sh OUT
#
# All of these variables may be left out:
#   PEERPROOF         the program (bin/peerproof)
#   COMPARE           the comparer (bin/compare, of make build-verify)
#   PROFILE           what the server should have: a name or a file
#   NVBANDWIDTH_SRC   a checkout of NVIDIA/nvbandwidth, or NVBANDWIDTH, the program
#   CUDA_SAMPLES_SRC  a checkout of NVIDIA/cuda-samples, or P2P_TEST, the program
#   NCCL_TESTS_SRC    a checkout of NVIDIA/nccl-tests, or NCCL_TESTS, a folder of programs
#   TOOL_LIMIT        seconds that one of those may take (1200)
#   NODE              a dry run: a simulated node, by name or file
#
# Exit codes: 0 all good; 1 a run did not pass, a figure differs, or a tool
# failed; 4 usage. A tool that was not asked for or cannot be built is skipped
# with a line that says so.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() {
	echo "real.sh: $1" >&2
	exit 4
}
[ $# -eq 1 ] || usage "expected one argument, the folder to make; its head says what else there is"
[ ! -e "$1" ] || usage "$1 exists; expected the name of a folder to make"
PEERPROOF=${PEERPROOF:-$here/../../bin/peerproof}
COMPARE=${COMPARE:-$here/../../bin/compare}
NODE=${NODE:-}
PROFILE=${PROFILE:-}
limit=${TOOL_LIMIT:-1200}
for program in "$PEERPROOF" "$COMPARE"; do
	command -v "$program" >/dev/null || usage "there is no program $program: make build build-verify, or name it"
done
[[ $limit =~ ^[1-9][0-9]*$ ]] || usage "TOOL_LIMIT is $limit; expected seconds"
mkdir -p "$1/tools" || usage "cannot make $1"
out=$(cd "$1" && pwd)
summary=$out/summary.md
status=0

export NCCL_NVLS_ENABLE=0 # multicast through switches is no path between two GPUs
export CUDA_DEVICE_ORDER=PCI_BUS_ID

say() { echo "== $*"; }
note() { echo "$*" >>"$summary"; }
wrong() {
	echo "real.sh: $*"
	note "- **$***"
	status=1
}
skip() {
	echo "skipped: $*"
	note "- skipped: $*"
}
# timed FILE COMMAND...: the command's output in FILE, its wall time in the summary.
timed() {
	local file=$1 began=${EPOCHREALTIME/./} code took
	shift
	"$@" >"$file" 2>&1
	code=$?
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	note "- $((took / 1000)).$(printf %03d $((took % 1000))) s, exit $code: \`$(basename "$1") ${*:2}\`"
	return "$code"
}
# peerproof ARGUMENT... on the server, or on the simulated node of a dry run.
target=()
[ -z "$NODE" ] || target=(--node "$NODE")

{
	echo "# Verification on real GPUs"
	echo
	[ -z "$NODE" ] || echo "**DRY RUN: SIMULATED node $NODE. No real GPU was tested.**"
	echo
	echo "$("$PEERPROOF" version | head -1), begun $(date -u +%FT%TZ), NCCL_NVLS_ENABLE=0."
	echo
	echo "## Steps"
	echo
} >"$summary"

say "the server"
timed "$out/topo.txt" "$PEERPROOF" topo ${target[@]+"${target[@]}"} || wrong "topo failed: see topo.txt"
cat "$out/topo.txt"
"$PEERPROOF" topo --json ${target[@]+"${target[@]}"} >"$out/topo.json" 2>/dev/null
gpus=$(grep -o '"slot":"gpu[0-9]*"' "$out/topo.json" | wc -l)
loopback=()
case $gpus in
0) wrong "there is no GPU" && exit 1 ;;
1) loopback=(--loopback) ;;
esac
note "- $gpus GPU(s)${loopback[*]:+, so in LOOPBACK: nothing here is about a pair}"

# The profile of the last run: that of the caller, with a short soak.
profile=()
if [ -n "$PROFILE" ]; then
	profile=(--profile "$PROFILE")
	if [ -e "$PROFILE" ]; then
		cat "$PROFILE" >"$out/profile.yaml"
	else
		"$PEERPROOF" profile show "$PROFILE" >"$out/profile.yaml" || usage "there is no profile $PROFILE"
	fi
else
	echo "version: 1" >"$out/profile.yaml"
fi
grep -q '^soak:' "$out/profile.yaml" || echo "soak: {seconds: 10}" >>"$out/profile.yaml"

# run NAME ARGUMENT...: one run of peerproof, in the folder NAME.
run() {
	local name=$1
	shift
	say "peerproof run $*"
	timed "$out/$name.log" "$PEERPROOF" run -q "$@" --out "$out/$name" || wrong "the run $name did not pass: see $name.log"
	cat "$out/$name.log"
}
common=(${target[@]+"${target[@]}"} ${loopback[@]+"${loopback[@]}"})
run gate --preset gate ${common[@]+"${common[@]}"} ${profile[@]+"${profile[@]}"}
run acceptance ${common[@]+"${common[@]}"} ${profile[@]+"${profile[@]}"}
run rma --preset rma ${common[@]+"${common[@]}"} --profile "$out/profile.yaml"

# shellcheck source=ci/verify/tools.sh
. "$here/tools.sh"

say "figures beside those of other tools"
if [ ${#figures[@]} -eq 0 ]; then
	skip "the comparison of figures: no tool left any"
else
	"$COMPARE" tools "$out/acceptance" "${figures[@]}" >"$out/figures.md"
	case $? in
	0) ;;
	1) wrong "figures differ: see figures.md" ;;
	*) wrong "the figures could not be compared" ;;
	esac
	cat "$out/figures.md"
fi

say "a simulated node of the same shape"
simulated=()
if "$COMPARE" node "$out/rma" >"$out/node.yaml"; then
	timed "$out/simulated.log" "$PEERPROOF" run -q --preset rma --node "$out/node.yaml" --profile "$out/profile.yaml" \
		${loopback[@]+"${loopback[@]}"} --out "$out/simulated"
	[ ! -e "$out/simulated/journal.jsonl" ] || simulated=("$out/simulated")
	tail -2 "$out/simulated.log"
fi
"$COMPARE" facts "$out/rma" ${simulated[@]+"${simulated[@]}"} -json "$out/facts.json" >"$out/facts.md" || wrong "there are no facts"
if [ ${#simulated[@]} -gt 0 ]; then
	"$COMPARE" differ "$out/rma" "${simulated[@]}" >"$out/differences.md" || wrong "there is no list of differences"
	"$PEERPROOF" diff "${simulated[@]}" "$out/rma" >"$out/diff.txt" 2>&1
	note ""
	sed 's/^#/##/' "$out/differences.md" >>"$summary"
else
	wrong "no simulated node could be run: see simulated.log"
fi
note ""
note "Pages: topo.txt, figures.md, facts.md, differences.md, diff.txt; runs: gate, acceptance, rma, simulated; tools' outputs: tools."

say "where simulation and reality differ"
cat "$out/differences.md" 2>/dev/null
say "all of it: $summary"
[ -z "$NODE" ] || echo "DRY RUN, SIMULATED: no real GPU was tested"
exit "$status"
