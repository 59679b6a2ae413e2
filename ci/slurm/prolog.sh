#!/bin/sh
# Slurm's Prolog: tests the GPUs that a job was given, before it begins. Where
# something is wrong with them it drains the node with the reason and exits with
# 1, upon which Slurm requeues the job. See docs/slurm.md.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=ci/slurm/gate.sh
. "$here/gate.sh"

case " $PEERPROOF_PROLOG_SKIP " in
*" ${SLURM_JOB_PARTITION:-?} "*) exit 0 ;;
esac
# by_file NUMBERS: the places in PCI order of the GPUs with these numbers in the
# names of their device files, lowest first; nothing where no driver tells.
by_file() {
	sed -n 's/^Device Minor:[[:space:]]*//p' "$PEERPROOF_PROC"/*/information 2>/dev/null |
		awk -v wanted="$1" '{ place[$1] = NR - 1 }
			END { n = split(wanted, w, ","); if (NR) for (i = 1; i <= n; i++) print (w[i] in place ? place[w[i]] : "none") }' |
		sort -n | paste -s -d , -
}

case ${CUDA_VISIBLE_DEVICES:-} in
*GPU-* | *MIG-*) gpus=$CUDA_VISIBLE_DEVICES ;; # Slurm can name them for certain
*) gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}} ;;
esac
case $gpus in
'') exit 0 ;; # a job without GPUs
*MIG-*) exit 0 ;; # parts of GPUs have no peers
*GPU-*) ;;
*)
	# A number is a place in PCI order, as CUDA counts too, or one in the order of
	# device files: that is gres.conf's affair.
	files=$(by_file "$gpus")
	case $PEERPROOF_PROLOG_ORDER in
	pci) ;;
	file) gpus=${files:-$gpus} ;;
	*)
		if [ -n "$files" ] && [ "$files" != "$(printf '%s\n' "$gpus" | tr , '\n' | sort -n | paste -s -d , -)" ]; then
			say "$node: job ${SLURM_JOB_ID:-} begins untested: whether its GPUs $gpus are numbered by PCI address or by device file (PCI: $files), PEERPROOF_PROLOG_ORDER has to say"
			exit 0
		fi
		;;
	esac
	;;
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
