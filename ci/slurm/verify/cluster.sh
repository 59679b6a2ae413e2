# shellcheck shell=bash
# A Slurm cluster on this machine for verify.sh: munged, slurmctld and a slurmd a
# node, in the folder $LAB, with ports of their own. Its nodes have two GPUs each,
# of which there is nothing but two device files that stand for /dev/null.

# cluster_start NODE...: start a cluster of these nodes; the ones named first get
# jobs first.
cluster_start() {
	local port=$((20000 + RANDOM % 10000)) host weight=1 name
	host=$(hostname -s)
	mkdir -p "$LAB"/{etc,log,state,munge,dev,runs}
	mknod -m 666 "$LAB/dev/nvidia0" c 1 3
	mknod -m 666 "$LAB/dev/nvidia1" c 1 3
	chmod 755 "$LAB"
	head -c 1024 /dev/urandom >"$LAB/munge/key"
	chmod 400 "$LAB/munge/key"
	chown -R munge:munge "$LAB/munge"
	# A program, not a folder of slurmd, answers for cgroups from release 23.11 on.
	case $(slurmd -V) in
	*" 22."* | *" 23.02"*) ;;
	*) echo "CgroupPlugin=disabled" >"$LAB/etc/cgroup.conf" ;;
	esac
	echo "Name=gpu File=$LAB/dev/nvidia[0-1]" >"$LAB/etc/gres.conf"
	{
		cat <<-CONF
			ClusterName=peerproof
			SlurmctldHost=$host(127.0.0.1)
			SlurmctldPort=$port
			AuthType=auth/munge
			AuthInfo=socket=$LAB/munge/socket,cred_expire=5
			SlurmUser=root
			SlurmdUser=root
			StateSaveLocation=$LAB/state
			SlurmdSpoolDir=$LAB/state/%n
			SlurmctldPidFile=$LAB/state/slurmctld.pid
			SlurmdPidFile=$LAB/state/slurmd-%n.pid
			SlurmctldLogFile=$LAB/log/slurmctld
			SlurmdLogFile=$LAB/log/%n
			ProctrackType=proctrack/linuxproc
			SelectType=select/cons_tres
			SelectTypeParameters=CR_CPU
			GresTypes=gpu
			MpiDefault=none
			SlurmdParameters=config_overrides
			ReturnToService=2
			PrologFlags=Alloc
			SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=5,bf_interval=5
			Include $LAB/etc/checks.conf
		CONF
		for name; do
			port=$((port + 1))
			echo "NodeName=$name NodeHostname=$host NodeAddr=127.0.0.1 Port=$port CPUs=2 RealMemory=100 Gres=gpu:2 Weight=$weight"
			weight=$((weight + 1))
		done
		echo "PartitionName=main Nodes=ALL Default=YES State=UP"
		echo "PartitionName=acceptance Nodes=ALL State=UP"
	} >"$LAB/etc/slurm.conf"
	export SLURM_CONF=$LAB/etc/slurm.conf
	echo "# none yet" >"$LAB/etc/checks.conf"

	runuser -u munge -- munged --socket="$LAB/munge/socket" --key-file="$LAB/munge/key" \
		--pid-file="$LAB/munge/pid" --log-file="$LAB/munge/log" --seed-file="$LAB/munge/seed"
	slurmctld
	for name; do
		mkdir -p "$LAB/state/$name"
		slurmd -N "$name"
	done
	await 30 "all nodes are idle" all_idle $#
}

all_idle() { [ "$(sinfo --noheader --Node --format '%N %T' | sort -u | grep -c ' idle$')" -eq "$1" ]; }

# cluster_checks LINE...: the lines of slurm.conf that set up health check and
# prolog, which the daemons then read anew.
cluster_checks() {
	printf '%s\n' "$@" >"$LAB/etc/checks.conf"
	scontrol reconfigure
}

# cluster_stop: end what cluster_start has started, by its process ids.
cluster_stop() {
	local file pid
	for file in "$LAB"/state/slurmd-*.pid "$LAB/state/slurmctld.pid" "$LAB/munge/pid"; do
		pid=$(cat "$file" 2>/dev/null) || continue
		kill "$pid" 2>/dev/null || continue
		for _ in $(seq 50); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -9 "$pid" 2>/dev/null || :
	done
}

# await SECONDS WHAT COMMAND...: wait until the command succeeds.
await() {
	local seconds=$1 what=$2 end
	shift 2
	end=$((SECONDS + seconds))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || fail "after $seconds s still not: $what"
		sleep 0.5
	done
	echo "ok: $what"
}

fail() {
	echo "FAIL: $1"
	sinfo --Node --format "%N %T %60E" | sort -u || :
	squeue || :
	tail -n 15 "$LAB"/log/* "$LAB/runs.log" | grep -v pmix || :
	exit 1
}

state() { of "$1" %T; }
why() { of "$1" %200E | sed 's/ *$//'; }
of() { sinfo --noheader --Node --partition main --nodes "$1" --format "$2" | head -n 1; } # a node has a line a partition

# drained NODE PATTERN: the node is out of service, for a reason that matches
# the extended regular expression.
drained() { [[ $(state "$1") == drain* ]] && why "$1" | grep -Eqx -- "$2"; }
