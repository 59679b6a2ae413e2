# shellcheck shell=sh
# What healthcheck.sh and prolog.sh share: both read this file with `.`, after
# setting `here` to the folder that all of these lie in. It defines functions and
# settings, and does nothing by itself.

PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
# shellcheck source=ci/slurm/peerproof.env
[ ! -r "${here:?}/peerproof.env" ] || . "$here/peerproof.env"
: "${PEERPROOF:=/usr/local/bin/peerproof}" "${PEERPROOF_ARGS:=}" "${PEERPROOF_RUNS:=/var/log/peerproof}"
: "${PEERPROOF_LIMIT:=45}" "${PEERPROOF_PROLOG_LIMIT:=120}" "${PEERPROOF_PROLOG_SKIP:=}"
: "${PEERPROOF_PROLOG_ORDER:=}" "${PEERPROOF_PROC:=/proc/driver/nvidia/gpus}"
: "${PEERPROOF_PROLOG_SELECT:=not (inventory/gpu-count or bandwidth)}"
node=${SLURMD_NODENAME:-$(hostname -s)}

# say TEXT: tell slurmd's log (where it keeps the output) and the system's.
say() {
	printf 'peerproof: %s\n' "$1"
	logger -t peerproof -- "$1" 2>/dev/null || :
}

# alone SECONDS: wait so long to be the only test on this node, and be it until
# the script ends. 1: another test goes on for longer; 2: nothing can be written.
alone() {
	lock=$PEERPROOF_RUNS/$node.lock
	if ! { mkdir -p "$PEERPROOF_RUNS" && touch "$lock"; } 2>/dev/null; then
		say "$node could not be tested: $PEERPROOF_RUNS cannot be written to"
		return 2
	fi
	exec 9>"$lock"
	flock -w "$1" 9 || return 1
}

# gate SECONDS FLAG...: run the quick tests. Sets found to
#   nothing   the GPUs that were tested are good
#   fault     something is wrong with them, or there is nothing to test on a node
#             that Slurm gives GPUs of
#   unknown   there is no answer: a mistake in the settings, a full disk, or the
#             time was up before anything was found. No reason to drain a node.
# and reason to one line that says why.
gate() {
	limit=$1
	shift
	run=$PEERPROOF_RUNS/$node-$(date +%Y%m%d-%H%M%S)-$$
	rc=0
	# One spec that hangs must leave time for the others, and for the report.
	# shellcheck disable=SC2086 # PEERPROOF_ARGS holds several words
	timeout -k 8 "$limit" "$PEERPROOF" run --preset gate --timeout 10s -q $PEERPROOF_ARGS "$@" \
		--out "$run" >"$run.log" 2>&1 9>&- || rc=$?
	reason=$("$PEERPROOF" report "$run" --reason 2>/dev/null) || reason=$(tail -n 1 "$run.log")
	case $rc in
	0) found=nothing ;;
	1 | 5) found=fault ;;
	2 | 124 | 137) # stopped, most likely by the limit: what it found until then counts
		case $reason in
		"fail "* | "SIMULATED fail "*) found=fault ;;
		*"error not-run "* | *"error blocked-by "*) found=unknown ;;
		"error "* | "SIMULATED error "*) found=fault ;;
		*) found=unknown ;;
		esac
		;;
	*) found=unknown ;;
	esac
	if [ "$found" = fault ]; then
		say "$node: $reason; see $run"
		return
	fi
	rm -rf "$run" "$run.log"
	[ "$found" = nothing ] || say "$node could not be tested (exit $rc): $reason"
}

# drain: take the node out of service, for the reason that gate found.
drain() {
	scontrol update NodeName="$node" State=DRAIN Reason="$reason (peerproof)"
}
