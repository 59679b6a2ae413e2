# shellcheck shell=bash
# Sourced by the scripts beside it: packages NAME... installs the Debian
# packages that are missing, and says clearly where it cannot.
packages() {
	local missing=()
	for name in "$@"; do
		dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "$0: needs these packages and, to install them, root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	echo "installing ${missing[*]}"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" >/dev/null
}
