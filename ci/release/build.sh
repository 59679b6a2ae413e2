#!/usr/bin/env bash
# make release: one commit becomes dist/, the same bytes wherever it is built
# with the same Go and gcc. For each of ARCHES: a tarball, a .deb and an SBOM;
# and SHA256SUMS over all of them, and what they were built with.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=ci/release
arches=${ARCHES:-amd64}
dist=${DIST:-dist}
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
die() { echo "make release: $*" >&2; exit 1; }

for tool in go git gcc apt-get dpkg-deb gzip tar; do
	command -v "$tool" >/dev/null || die "needs $tool, which is not here"
done
changes=$(git status --porcelain) || die "needs the git checkout: version, commit and times come from it"
[ -z "$changes" ] || die "the work tree differs from its commit; commit or stash first:"$'\n'"$changes"

# Nothing of this shell's environment reaches the binary.
unset GOFLAGS GOEXPERIMENT
export LC_ALL=C TZ=UTC GOOS=linux GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=1
export CGO_CFLAGS="-g -O2 -Wno-deprecated-declarations" CGO_LDFLAGS=-Wl,-z,lazy
umask 022
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# A tag v1.2.3 is version 1.2.3, four commits later 1.2.3+4.g<commit>; without a
# tag the commit's day. The length of <commit> is fixed: git's own grows with
# the number of objects in the clone.
if described=$(git describe --tags --match 'v[0-9]*' --abbrev=12 2>/dev/null); then
	version=$(sed -E 's/^v//; s/-([0-9]+)-g([0-9a-f]{12})$/+\1.g\2/; s/-/~/g' <<<"$described")
else
	version=0.0.0+git$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d).${commit:0:12}
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/dist
mkdir "$out"

# compile ARCH FILE: the program, against glibc 2.31.
compile() {
	local arch=$1 file=$2 triple cc sysroot=$PWD/bin/sysroot/$1
	case $arch in
	amd64) triple=x86_64-linux-gnu ;;
	arm64) triple=aarch64-linux-gnu ;;
	*) die "no such architecture: $arch (ARCHES may name amd64 and arm64)" ;;
	esac
	cc=$triple-gcc
	command -v "$cc" >/dev/null || die "needs $cc for $arch: apt-get install gcc-${triple/_/-}"
	"$here/sysroot.sh" "$arch" "$sysroot"
	# A gcc looks beside itself before it looks in the sysroot: name its folders.
	# Go takes the quotes away, but the linker finds no libc below a space.
	case $sysroot in *" "*) die "the path of this checkout holds a space: $PWD; build a release in one without" ;; esac
	cc+=" '--sysroot=$sysroot' -isystem '$sysroot/usr/include/$triple' -isystem '$sysroot/usr/include'"
	cc+=" '-B$sysroot/usr/lib/$triple' '-L$sysroot/usr/lib/$triple' '-L$sysroot/lib/$triple'"
	local main=github.com/peerproof/peerproof/runner/cli
	GOARCH=$arch CC=$cc go build -trimpath -buildvcs=false -buildmode=pie -o "$file" \
		-ldflags "-s -w -buildid= -X $main.Version=$version -X $main.Commit=$commit -extldflags '-Wl,-z,relro'" ./cmd/peerproof
	{
		echo "$arch: $($triple-gcc --version | head -n 1)"
		sed "s/^/$arch: /" "$sysroot/.packages"
	} >>"$work/built-with"
}

"$here/notices.sh" >"$work/notices"
mkdir "$work/pages"
go run -buildvcs=false ./runner/cli/man "$work/pages" "$version"

GOBIN=$work go install "$sbom"

for arch in $arches; do
	name=peerproof-$version-linux-$arch
	tree=$work/$name
	mkdir "$tree"
	compile "$arch" "$tree/peerproof"
	cp -r "$work/pages/." "$tree/"
	cp README.md "$tree/"
	cp "$work/notices" "$tree/THIRD-PARTY-NOTICES.txt"
	mkdir "$tree/docs"
	git archive "$commit" ci | tar -C "$tree" -x --exclude=ci/release --exclude='verify*' --exclude='*_test.go'
	cp docs/*.md "$tree/docs/"
	chmod -R u=rwX,go=rX "$tree"
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" |
		gzip -9n >"$out/$name.tar.gz"
	"$here/deb.sh" "$tree" "$version" "$arch" "$work/deb-$arch" "$out"
	GOPROXY=off "$work/cyclonedx-gomod" bin -json -output-version 1.6 -noserial -notimestamp -std -licenses \
		-version "v$version" -output "$out/$name.cdx.json" "$tree/peerproof" 2>"$work/sbom.log" || { cat "$work/sbom.log" >&2; die "no SBOM"; }
done

{
	echo "peerproof $version, commit $commit, SOURCE_DATE_EPOCH $SOURCE_DATE_EPOCH"
	go version
	cat "$work/built-with"
} >"$out/peerproof-$version.built-with.txt"
(cd "$out" && sha256sum -- * >SHA256SUMS)
rm -rf "$dist"
mkdir -p "$(dirname "$dist")"
mv "$out" "$dist"
PEERPROOF_DIST=$(realpath "$dist") go test -count=1 ./ci/release
echo "make release: $version"
cat "$dist/SHA256SUMS"
