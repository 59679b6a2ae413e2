#!/usr/bin/env bash
# make verify-github: actionlint reads ci/github/peerproof.yml and has its script
# checked by shellcheck; then it runs on a healthy node, on a broken one, and
# past its deadline. Needs the Go module proxy and apt.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/verify/packages.sh
. ci/verify/packages.sh
packages shellcheck
lint=(go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)
"${lint[@]}" ci/github/peerproof.yml
# A linter that finds nothing in a broken file proves nothing.
if sed 's/timeout-minutes/timeout-minute/' ci/github/peerproof.yml | "${lint[@]}" - >/dev/null 2>&1; then
	echo "verify-github: actionlint accepts a misspelt key" >&2
	exit 1
fi
echo "actionlint: nothing to say"
PEERPROOF_PROGRAM=$PWD/bin/peerproof go test -count=1 ./ci/github
echo "verify-github: done in $SECONDS s"
