#!/usr/bin/env bash
# sysroot.sh ARCH DIR: lays the C library's headers and link libraries of
# Debian 11 (glibc 2.31) under DIR, for a gcc --sysroot=DIR. A binary linked
# against them starts on every glibc from 2.31 on. Needs apt, dpkg-deb and
# Debian's archive keyring; no root, and nothing is installed.
set -euo pipefail
arch=$1 dir=$2
suite=bullseye
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
die() { echo "sysroot.sh: $*" >&2; exit 1; }
[ -f "$keyring" ] || die "no $keyring: apt-get install debian-archive-keyring"
[ ! -f "$dir/.complete" ] || exit 0

# The mirror this machine's apt uses, if it is Debian's.
# shellcheck disable=SC2016 # apt expands these
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)}
[ -n "$mirror" ] || die "apt knows no Debian mirror here: set DEBIAN_MIRROR to one that carries $suite"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,parts,debs}
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
: >"$work/status"
options=(-q -o APT::Architecture="$arch" -o APT::Architectures::="$arch"
	-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts="$work/parts"
	-o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status"
	-o Dir::Cache="$work/cache" -o Acquire::Languages=none -o APT::Sandbox::User=)
apt-get "${options[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; die "$mirror has no $suite: set DEBIAN_MIRROR to one that carries it"; }
(cd "$work/debs" && apt-get "${options[@]}" download libc6 libc6-dev linux-libc-dev) >"$work/log" 2>&1 ||
	{ cat "$work/log" >&2; die "no libc6-dev of $suite for $arch"; }

rm -rf "$dir"
mkdir -p "$dir"
for deb in "$work"/debs/*.deb; do
	dpkg-deb -x "$deb" "$dir"
	basename "$deb" >>"$dir/.packages"
done
# Absolute links would leave the sysroot and find this machine's glibc.
find "$dir" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
	ln -snf "$(realpath -m --relative-to="$(dirname "$link")" "$dir$target")" "$link"
done
touch "$dir/.complete"
