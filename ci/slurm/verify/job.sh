#!/bin/sh
# A job of verify.sh: says where it is and which GPUs it has, and takes $1 seconds.
echo "$SLURMD_NODENAME has gpu ${CUDA_VISIBLE_DEVICES:-none}, restarts ${SLURM_RESTART_COUNT:-0}"
sleep "$1"
