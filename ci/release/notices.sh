#!/usr/bin/env bash
# notices.sh [--debian]: the licences and notices of all that is linked into
# the program, on standard output. With --debian the Apache licence's text is
# the copy that every Debian system has.
set -euo pipefail
debian=${1:-}
show() { # NAME FOLDER
	local files
	files=$(find "$2" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
	[ -n "$files" ] || { echo "notices.sh: $1 has no licence file in $2" >&2; exit 1; }
	printf '%s\n\n%s\n' "$(printf '%.0s=' {1..78})" "$1"
	for file in $files; do
		echo
		if [ -n "$debian" ] && grep -q 'Apache License' "$file" && grep -q 'Version 2.0, January 2004' "$file"; then
			# The text's own appendix holds a pattern for a notice, not one.
			grep -E '^ *Copyright (\(c\) )?[0-9]{4}' "$file" || true
			echo "Apache License, version 2.0: see /usr/share/common-licenses/Apache-2.0"
		else
			cat "$file"
		fi
	done
	echo
}
show "The Go standard library and runtime, $(go env GOVERSION)" "$(go env GOROOT)"
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/peerproof |
	sort -u | while read -r path version dir; do
	show "$path $version" "$dir"
done
