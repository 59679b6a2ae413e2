#!/usr/bin/env bash
# make verify-gitlab: runs ci/gitlab/peerproof.gitlab-ci.yml with gitlab-ci-local
# on this machine's shell, on a healthy node, on one with a slow pair and on one
# that takes longer than the deadline. Needs apt (git, node, npm, rsync) and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
repo=$PWD
# The newest version that runs on Debian 12's node 18 and compiles nothing.
version=4.55.0
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages git rsync libxml2-utils
command -v npm >/dev/null || packages nodejs npm

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work/npm" "gitlab-ci-local@$version"
export PATH=$repo/bin:$PATH
fail() { echo "verify-gitlab: $*" >&2; cat "$work/log" >&2; exit 1; }

mkdir "$work/project"
cd "$work/project"
git init -q -b main
git config user.name verify
git config user.email verify@localhost
git remote add origin git@localhost:group/project.git
cp "$repo/ci/gitlab/peerproof.gitlab-ci.yml" .
cat >.gitlab-ci.yml <<'YAML'
include: {local: peerproof.gitlab-ci.yml}
stages: [test]
gate-gpu-a:
  extends: .peerproof-gate
train:
  stage: test
  script: [echo trained >trained.txt]
  artifacts: {paths: [trained.txt]}
train-on-its-runner:
  extends: .peerproof-before
  stage: test
  script: [echo trained >trained.txt]
YAML
cat >slow-pair.yaml <<'YAML'
version: 1
name: slow-pair
gpus: {count: 4, model: NVIDIA H200, memory: 64MiB}
nvlink: {version: 4, switch: {links: 18}}
faults:
  - {kind: slow, pair: [1, 2], factor: 0.5, when: always}
YAML
git add -A
git commit -qm project

# pipeline ARGS DEADLINE [JOB]: gitlab-ci-local's exit code in $code, its output
# in the log, what it collected in $artifacts.
artifacts=.gitlab-ci-local/artifacts
pipeline() {
	rm -rf .gitlab-ci-local
	code=0
	timeout 300 "$work/npm/node_modules/.bin/gitlab-ci-local" --shell-executor-no-image --shell-isolation \
		--variable "PEERPROOF_ARGS=$1" --variable "PEERPROOF_DEADLINE=$2" "${@:3}" >"$work/log" 2>&1 || code=$?
}
# junit JOB XPATH: a number from the report that was collected from a job.
junit() {
	local file
	file=$(find "$artifacts/$1" -name junit.xml | head -n 1)
	[ -n "$file" ] || fail "no JUnit report was collected from $1"
	xmllint --xpath "$2" "$file"
}

pipeline "--preset gate --node single" 10m
[ $code = 0 ] || fail "healthy node: exit $code, expected 0"
[ -f $artifacts/train/trained.txt ] || fail "healthy node: the job after the gate did not run"
for job in gate-gpu-a train-on-its-runner; do
	[ "$(junit $job 'count(//testcase[not(*[self::failure or self::error or self::skipped])])')" -gt 0 ] || fail "healthy node: $job passed nothing"
	[ "$(junit $job 'count(//failure)+count(//error)')" = 0 ] || fail "healthy node: a failure in the report"
done
echo "healthy node: green, JUnit collected, the job after the gate ran"

pipeline "--preset gate --node slow-pair.yaml" 10m
[ $code != 0 ] || fail "slow pair: the pipeline is green"
[ ! -e $artifacts/train ] || fail "slow pair: the job after the gate ran"
[ "$(junit gate-gpu-a 'count(//failure)')" -gt 0 ] || fail "slow pair: no failure in the report"
echo "slow pair: red, JUnit collected with $(junit gate-gpu-a 'count(//failure)') failures, the job after the gate did not run"

pipeline "--preset gate --node slow-pair.yaml" 10m train-on-its-runner
[ $code != 0 ] || fail "slow pair: the job that tests its own runner is green"
[ "$(junit train-on-its-runner 'count(//failure)')" -gt 0 ] || fail "slow pair: no failure in the report of the job"
echo "slow pair: the job that tests its own runner is red, JUnit collected"

pipeline "--node hgx-h200-8" 3s gate-gpu-a
[ $code != 0 ] || fail "deadline: the gate is green"
[ "$(junit gate-gpu-a 'count(//testcase/error[@type="not-run"])')" -gt 0 ] || fail "deadline: no spec says that it was not run"
echo "deadline: red, JUnit collected, $(junit gate-gpu-a 'count(//error[@type="not-run"])') specs not run"
echo "verify-gitlab: done in $SECONDS s"
