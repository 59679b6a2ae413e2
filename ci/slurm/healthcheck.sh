#!/bin/sh
# Slurm's HealthCheckProgram: tests the GPUs of an idle node, and drains the node
# where something is wrong with them. A node that is not idle is left alone: its
# GPUs are at work, or somebody else has taken it out of service. Nothing here
# puts a node back into service. See docs/slurm.md.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=ci/slurm/gate.sh
. "$here/gate.sh"

# idle: Slurm gives GPUs of this node, it is in service, and no job is on it, also
# none that is suspended and keeps its memory on the GPUs.
idle() {
	state=$(sinfo --noheader --Node --nodes "$node" --format '%T %G' | head -n 1)
	case $state in
	'idle '*gpu:*) [ -z "$(squeue --noheader --nodelist "$node" --format %i)" ] ;;
	*) return 1 ;;
	esac
}

# Asked after the lock is held: a job that comes later waits in prolog.sh.
alone 0
case $? in
0) ;;
1) exit 0 ;;
*) exit 1 ;;
esac
idle || exit 0
gate "$PEERPROOF_LIMIT"
case $found in
nothing) exit 0 ;;
fault)
	# Without the prolog a job may have begun meanwhile. Then the figures are
	# not to be trusted; and what somebody else wrote in the meantime stays.
	idle && drain
	exit
	;;
*) exit 1 ;; # slurmd logs the output, and leaves the node as it is
esac
