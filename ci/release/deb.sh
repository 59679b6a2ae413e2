#!/usr/bin/env bash
# deb.sh TREE VERSION ARCH WORK OUT: a Debian package of the release in TREE
# (as the tarball has it), written to OUT. dpkg-deb takes all times from
# SOURCE_DATE_EPOCH.
set -euo pipefail
tree=$1 version=$2 arch=$3 root=$4 out=$5
here=$(dirname "$0")
maintainer=${MAINTAINER:-peerproof maintainers <peerproof@users.noreply.github.com>}
doc=$root/usr/share/doc/peerproof

install -D -m 755 "$tree/peerproof" "$root/usr/bin/peerproof"
for page in "$tree"/man/*.1; do
	install -D -m 644 "$page" "$root/usr/share/man/man1/$(basename "$page")"
done
install -D -m 644 "$tree/completions/peerproof.bash" "$root/usr/share/bash-completion/completions/peerproof"
install -D -m 644 "$tree/completions/_peerproof" "$root/usr/share/zsh/vendor-completions/_peerproof"
install -D -m 644 "$tree/completions/peerproof.fish" "$root/usr/share/fish/vendor_completions.d/peerproof.fish"
install -D -m 644 -t "$root/lib/systemd/system" "$tree"/ci/systemd/peerproof.{service,timer}
install -D -m 644 "$tree/README.md" "$doc/README.md"
install -D -m 644 -t "$doc" "$tree"/docs/*.md
mkdir -p "$doc/examples"
cp -r "$tree/ci" "$doc/examples/"
rm -r "$doc/examples/ci/systemd" # installed above

{
	cat <<-TEXT
		peerproof, as built from its repository (Go module
		github.com/peerproof/peerproof). Copyright: the peerproof authors.

		It holds the following works of others, under the licences given.

	TEXT
	"$here/notices.sh" --debian
} >"$doc/copyright"
cat >"$doc/changelog.Debian" <<TEXT
peerproof ($version-1) unstable; urgency=medium

  * Built from commit $(git rev-parse HEAD).

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
gzip -9n "$doc/changelog.Debian"
find "$doc" -maxdepth 1 -name '*.md' -size +4k -exec gzip -9n {} +
mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/peerproof" <<TEXT
# This is no upload to Debian: there is no bug that asks for the package.
peerproof: initial-upload-closes-no-bugs *
TEXT
chmod -R u=rwX,go=rX "$root"

mkdir "$root/DEBIAN"
(cd "$root" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
cat >"$root/DEBIAN/control" <<TEXT
Package: peerproof
Version: $version-1
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -k -s --apparent-size "$root" | cut -f 1)
Depends: libc6 (>= 2.31)
Suggests: libcuda1, libnvidia-ml1
Section: admin
Priority: optional
Description: conformance tests for servers with several NVIDIA GPUs
 Several GPUs in one server read and write each other's memory, over NVLink or
 PCIe. peerproof runs specifications against every pair of the real GPUs and
 leaves JUnit and JSON reports that say which part is wrong, by how much, and
 what to do next. A missing GPU, link or capability is never a silent pass.
 .
 It needs the NVIDIA driver on a GPU server, no CUDA toolkit and no daemon.
 Without a GPU it can show itself on simulated servers.
TEXT
chmod 755 "$root" "$root/DEBIAN"
# xz cuts into blocks where it has threads: one thread gives the same bytes everywhere.
DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
