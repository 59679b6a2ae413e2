#!/bin/sh
# Slurm's Prolog: tests the GPUs that a job was given, before it begins. Where
# something is wrong with them it drains the node with the reason and exits with
# 1, upon which Slurm requeues the job. See docs/slurm.md.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=ci/slurm/gate.sh
. "$here/gate.sh"

case " $PEERPROOF_PROLOG_SKIP " in
*" ${SLURM_JOB_PARTITION:-} "*) exit 0 ;;
esac
gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}}
case $gpus in
'') exit 0 ;; # a job without GPUs
*MIG-*) exit 0 ;; # parts of GPUs have no peers
esac
if ! alone "$PEERPROOF_PROLOG_LIMIT"; then
	say "$node: job ${SLURM_JOB_ID:-} begins untested, for want of $lock"
	exit 0
fi
CUDA_VISIBLE_DEVICES=$gpus
export CUDA_VISIBLE_DEVICES
gate "$PEERPROOF_PROLOG_LIMIT" -k "$PEERPROOF_PROLOG_SELECT"
[ "$found" = fault ] || exit 0 # an unknown answer is in the system's log
# Before the exit: Slurm keeps a reason that is there, and writes "Prolog error"
# where there is none. A node that somebody drained meanwhile keeps theirs.
case $(sinfo --noheader --Node --nodes "$node" --format %T | head -n 1) in
drain* | down* | fail*) ;;
*) drain ;;
esac
exit 1
