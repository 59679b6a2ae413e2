#!/bin/sh
# A plug-in of node-problem-detector's custom plug-in monitor: tells what the
# DaemonSet found. It needs neither GPU nor peerproof, only the file.
#
#   peerproof.sh [FILE [SECONDS]]
#
# One line on standard output, and 0: the GPUs are good; 1: something is wrong
# with them; 2: nobody knows, also where FILE is older than SECONDS.
file=${1:-/var/lib/peerproof/status}
oldest=${2:-7200}
say() { printf '%s\n' "$1"; } # some echos read escapes
if ! [ -r "$file" ]; then
	say "no answer of peerproof yet: there is no $file"
	exit 2
fi
{
	read -r code
	read -r reason
} <"$file"
age=$(($(date +%s) - $(date -r "$file" +%s)))
if [ "$age" -gt "$oldest" ]; then
	say "no answer of peerproof for $((age / 60)) min: $reason"
	exit 2
fi
say "$reason"
case $code in
0) exit 0 ;;
1 | 5) exit 1 ;; # 5: nothing to test on a node that should have GPUs
*) exit 2 ;;
esac
