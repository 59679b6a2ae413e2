#!/bin/sh
# What the DaemonSet runs: tests the node's GPUs every PEERPROOF_INTERVAL seconds
# and keeps the answer in PEERPROOF_DIR, a folder of the host:
#   status     two lines: the exit code of the last test, and why, on one line
#   last       the folder of the last test, with its reports
#   last-bad   that of the last one that found something
# A GPU on which something computes is not tested: the answer of before stays.
set -u
: "${PEERPROOF:=peerproof}" "${PEERPROOF_ARGS:=}" "${PEERPROOF_INTERVAL:=3600}"
: "${PEERPROOF_DIR:=/var/lib/peerproof}" "${NODE_NAME:=$(hostname)}"

# A shell hears a signal while it waits, not while it runs a command.
child=
stop() {
	[ -z "$child" ] || { kill "$child" && wait "$child"; }
	exit 0
}
trap stop TERM INT
waiting() {
	"$@" &
	child=$!
	wait "$child"
	set -- $?
	child=
	return "$1"
}

# run FOLDER FLAG...: a run in a fresh folder. Sets rc and reason.
run() {
	folder=$PEERPROOF_DIR/$1
	shift
	rm -rf "$folder" "$folder.log"
	rc=0
	# shellcheck disable=SC2086 # PEERPROOF_ARGS holds several words
	waiting "$PEERPROOF" run -q $PEERPROOF_ARGS "$@" --out "$folder" >"$folder.log" 2>&1 || rc=$?
	reason=$("$PEERPROOF" report "$folder" --reason 2>/dev/null) || reason=$(tail -n 1 "$folder.log")
}

# answer CODE REASON: keep it, whole or not at all.
answer() {
	printf '%s\n%s\n' "$1" "$2" >"$PEERPROOF_DIR/status.new" && mv "$PEERPROOF_DIR/status.new" "$PEERPROOF_DIR/status"
}

while :; do
	run busy -k inventory/busy
	case $rc$reason in
	1*' gpu-busy '*)
		printf '%s\n' "$NODE_NAME: $reason: not tested now"
		if [ -e "$PEERPROOF_DIR/status" ]; then
			touch "$PEERPROOF_DIR/status"
		else
			answer 2 "not tested yet: $reason"
		fi
		;;
	*)
		run last --preset gate --timeout 30s
		printf '%s\n' "$NODE_NAME: exit $rc: $reason"
		case $rc in
		1 | 5)
			tail -n 60 "$PEERPROOF_DIR/last.log"
			rm -rf "$PEERPROOF_DIR/last-bad"
			cp -R "$PEERPROOF_DIR/last" "$PEERPROOF_DIR/last-bad"
			;;
		esac
		answer "$rc" "$reason"
		;;
	esac
	waiting sleep "$PEERPROOF_INTERVAL"
done
