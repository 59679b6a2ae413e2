# shellcheck shell=bash disable=SC2154 # real.sh, which reads this file, sets out, gpus, limit, NODE
# Builds and runs other tools from the caller's folders; leaves their outputs in
# $out/tools and the comparer's arguments in figures.
figures=()

# nvcc, which may be installed and not in PATH.
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)

# can NAME FOLDER VARIABLE TOOL...: the folder is there, and so is what builds it.
can() {
	local name=$1 folder=$2 variable=$3 tool
	shift 3
	if [ -z "$folder" ]; then
		skip "$name: $variable names no folder of its sources"
		return 1
	fi
	if [ ! -d "$folder" ]; then
		wrong "$name: $variable is $folder, which is no folder"
		return 1
	fi
	if [ -z "$nvcc" ]; then
		skip "$name: nvcc is missing, so that it cannot be built"
		return 1
	fi
	for tool in "$@"; do
		command -v "$tool" >/dev/null || {
			skip "$name: $tool is missing, so that it cannot be built"
			return 1
		}
	done
}

# built NAME COMMAND...: the build's output goes beside the tool's.
built() {
	local name=$1
	shift
	say "building $name"
	timed "$out/tools/$name.build.log" "$@" && return
	tail -5 "$out/tools/$name.build.log"
	wrong "$name could not be built: see tools/$name.build.log"
	return 1
}

build_nvbandwidth() {
	cmake -S "$NVBANDWIDTH_SRC" -B "$out/build/nvbandwidth" -DCMAKE_CUDA_COMPILER="$nvcc" &&
		cmake --build "$out/build/nvbandwidth" -j "$(nproc)"
}
build_p2p() {
	local source
	source=$(find "$CUDA_SAMPLES_SRC" -name p2pBandwidthLatencyTest.cu -print -quit)
	[ -n "$source" ] || {
		echo "there is no p2pBandwidthLatencyTest.cu in $CUDA_SAMPLES_SRC"
		return 1
	}
	mkdir -p "$out/build" && "$nvcc" -O3 -std=c++17 -arch=native -I"$CUDA_SAMPLES_SRC/Common" -o "$out/build/p2pBandwidthLatencyTest" "$source"
}
build_nccl() {
	make -C "$NCCL_TESTS_SRC" -j "$(nproc)" BUILDDIR="$out/build/nccl-tests" CUDA_HOME="$(dirname "$(dirname "$nvcc")")" NVCC_GENCODE=-arch=native MPI=0
}

# tool FILE COMMAND...: one run of a tool, with a limit, its errors in a file beside.
tool() {
	local file=$out/tools/$1
	shift
	say "$(basename "$1") ${*:2}"
	timed "$file" timeout --kill-after=10 "$limit" "$@" && return
	tail -3 "$file"
	wrong "$(basename "$1") failed or took more than $limit s: see tools/$(basename "$file")"
	return 1
}

if [ -n "$NODE" ] && [ -z "${NVBANDWIDTH:-}${P2P_TEST:-}${NCCL_TESTS:-}" ]; then
	skip "nvbandwidth, p2pBandwidthLatencyTest, nccl-tests: a dry run has no GPU for them"
	return 0
fi

nvbandwidth=${NVBANDWIDTH:-}
if [ -z "$nvbandwidth" ] && can nvbandwidth "${NVBANDWIDTH_SRC:-}" NVBANDWIDTH_SRC cmake c++ && built nvbandwidth build_nvbandwidth; then
	nvbandwidth=$out/build/nvbandwidth/nvbandwidth
fi
# Those that peerproof measures too; where a version lacks one, it says so.
tests=(host_to_device_memcpy_ce device_to_host_memcpy_ce host_to_device_bidirectional_memcpy_ce device_to_host_bidirectional_memcpy_ce
	device_to_device_memcpy_read_ce device_to_device_memcpy_write_ce device_to_device_memcpy_read_sm device_to_device_memcpy_write_sm
	device_to_device_bidirectional_memcpy_write_ce device_to_device_bidirectional_memcpy_write_sm
	device_local_copy all_to_one_write_ce one_to_all_write_ce host_device_latency_sm device_to_device_latency_sm)
if [ -n "$nvbandwidth" ] && tool nvbandwidth.json "$nvbandwidth" -j -t "${tests[@]}"; then
	figures+=(-nvbandwidth "$out/tools/nvbandwidth.json")
fi

p2p=${P2P_TEST:-}
if [ -z "$p2p" ] && can p2pBandwidthLatencyTest "${CUDA_SAMPLES_SRC:-}" CUDA_SAMPLES_SRC c++ && built p2pBandwidthLatencyTest build_p2p; then
	p2p=$out/build/p2pBandwidthLatencyTest
fi
if [ -n "$p2p" ]; then
	! tool p2p.txt "$p2p" --p2p_read || figures+=(-p2p "$out/tools/p2p.txt")
	[ "$gpus" -eq 1 ] || ! tool p2p-sm.txt "$p2p" --p2p_read --sm_copy || figures+=(-p2p-sm "$out/tools/p2p-sm.txt")
fi

nccl=${NCCL_TESTS:-}
if [ -z "$nccl" ] && can nccl-tests "${NCCL_TESTS_SRC:-}" NCCL_TESTS_SRC make c++ && built nccl-tests build_nccl; then
	nccl=$out/build/nccl-tests
fi
if [ -n "$nccl" ]; then
	for program in all_reduce all_gather reduce_scatter sendrecv; do
		! tool "$program.txt" "$nccl/${program}_perf" -g "$gpus" -b 512M -e 512M -d uint64 || figures+=(-nccl "$program=$out/tools/$program.txt")
	done
fi
