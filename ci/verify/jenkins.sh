#!/usr/bin/env bash
# make verify-jenkins: reads ci/jenkins/Jenkinsfile with Groovy's own parser and
# runs its steps through the stand-in jenkins.groovy on a healthy and on a broken
# node. Jenkins itself is not in Debian. Needs apt (groovy).
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages groovy default-jre-headless
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$PWD/bin:$PATH
fail() { echo "verify-jenkins: $*" >&2; cat "$work/log" >&2; exit 1; }
cat >"$work/slow-pair.yaml" <<'YAML'
version: 1
name: slow-pair
gpus: {count: 4, model: NVIDIA H200, memory: 64MiB}
nvlink: {version: 4, switch: {links: 18}}
faults:
  - {kind: slow, pair: [1, 2], factor: 0.5, when: always}
YAML
# build ARGS: the Jenkinsfile with other arguments, its events in the log.
build() {
	sed "s|'--preset gate'|'$1'|" ci/jenkins/Jenkinsfile >"$work/Jenkinsfile"
	grep -qF -- "'$1'" "$work/Jenkinsfile" || fail "the Jenkinsfile has no PEERPROOF_ARGS to set"
	sed "1i file = '$work/Jenkinsfile'; folder = '$work'" ci/verify/jenkins.groovy >"$work/run.groovy"
	timeout 300 groovy "$work/run.groovy" >"$work/log" 2>&1 || fail "the stand-in ended with $?"
}
says() { grep -qE "$1" "$work/log" || fail "expected $1"; }

build "--preset gate --node single"
says '^result: SUCCESS'
for server in gpu-a gpu-b; do
	says "^event: junit peerproof-$server/junit.xml [1-9][0-9]* cases 0 bad"
	says "^event: archive peerproof-$server/"
done
says '^event: echo every server passed'
echo "healthy node: SUCCESS, JUnit and artifacts of both servers, the work ran"

build "--preset gate --node slow-pair.yaml"
says '^result: FAILURE'
for server in gpu-a gpu-b; do
	says "^event: junit peerproof-$server/junit.xml [1-9][0-9]* cases [1-9][0-9]* bad"
	says "^event: archive peerproof-$server/"
done
! grep -q '^event: echo' "$work/log" || fail "the work ran after a red gate"
echo "slow pair: FAILURE, JUnit and artifacts of both servers, the work did not run"
echo "verify-jenkins: done in $SECONDS s"
