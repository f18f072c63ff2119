#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A real Slurm cluster on loopback: one controller and several nodes, each a slurmd of its own.
# No system services, no munge, no cgroups, no accounts but one's own; up in about a second.
#
#     slurm.sh start DIR [NODES]  starts it, with the nodes n0, n1, ... (3); DIR (short: sockets
#                                 are in it) gets all state and logs.  Clients (sbatch, squeue)
#                                 need the environment variable SLURM_CONF=DIR/slurm.conf
#     slurm.sh crash DIR NODE     the node loses power: its slurmd and all that it runs is killed;
#                                 scontrol update nodename=NODE state=down tells the controller
#     slurm.sh boot DIR NODE      it is there again
#     slurm.sh stop DIR           ends the cluster with all jobs, and removes its state
#
# It needs the Debian packages slurmctld, slurmd and slurm-client.  Exit status 77: they are not
# there.
set -eu
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin

usage() { echo "usage: $0 start|stop DIR | crash|boot DIR NODE" >&2; exit 2; }
[ $# -ge 2 ] || usage
mkdir -p "$2"
dir=$(cd "$2" && pwd)
conf=$dir/slurm.conf
export SLURM_CONF=$conf

fail() { echo "slurm.sh: $*; see $dir/*.out" >&2; stop; exit 1; }

free_ports() {      # COUNT: that many numbers, each of a port that nobody listens on
    python3 - "$1" <<'PYTHON'
import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in held))
PYTHON
}

write_conf() {      # CONTROLLER-PORT NODE-PORT...
    local user number=0
    user=$(id -un)
    # cred_expire: a job that was put back into the queue waits for this time.
    # config_overrides: a node has the processors that are written here, whatever the machine has.
    # The timeouts: a node is lost when the test says so, not when the machine is slow.
    cat >"$conf" <<CONF
ClusterName=sheaf
SlurmctldHost=localhost
SlurmctldAddr=127.0.0.1
SlurmctldPort=$1
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=10
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n.spool
SlurmctldPidFile=$dir/slurmctld.run
SlurmdPidFile=$dir/%n.run
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
SlurmdTimeout=300
MessageTimeout=60
BatchStartTimeout=60
ReturnToService=2
KillWait=1
CONF
    shift
    for port; do
        echo "NodeName=n$number NodeHostname=localhost NodeAddr=127.0.0.1 Port=$port CPUs=2" >>"$conf"
        number=$((number + 1))
    done
    # Cgroups are not used, but Slurm would set up every kind that it detects on the machine.
    echo "CgroupPlugin=cgroup/v1" >"$dir/cgroup.conf"
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$conf"
}

daemon() {          # NAME COMMAND...: a daemon that stays in the foreground, in the background
    local name=$1; shift
    SHEAF_SLURM=$dir/$name setsid "$@" >>"$dir/$name.out" 2>&1 </dev/null &
    echo $! >"$dir/$name.pid"
}

boot() {            # NODE
    mkdir -p "$dir/$1.spool"
    daemon "$1" slurmd -D -N "$1" -f "$conf"
}

# Daemons and the processes of jobs are recognised by their environment. A slurmstepd overwrites its
# own environment, so it is recognised as the parent of a job's process.
members() {         # NODE
    local pid parent
    { bearing "SHEAF_SLURM=$dir/$1"
      comm -12 <(bearing "SLURM_CONF=$conf") <(bearing "SLURMD_NODENAME=$1"); } |
    while read -r pid; do
        echo "$pid"
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) || continue
        [ "$(cat "/proc/$parent/comm" 2>/dev/null)" != slurmstepd ] || echo "$parent"
    done
}

bearing() {         # NAME=VALUE: the processes that have it in their environment
    grep -lzxF "$1" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n' | sort || true
}

# All processes are killed together, so that none can report the end of another. A process that is
# killed may just have started another one.
crash() {           # NODE
    local pids
    for _ in $(seq 100); do
        pids=$(members "$1")
        [ -n "$pids" ] || break
        # shellcheck disable=SC2086
        { kill -STOP $pids || true; kill -KILL $pids || true; } 2>/dev/null
        sleep 0.05
    done
    rm -f "$dir/$1.pid"
}

nodes() { sed -n 's/^NodeName=\(n[0-9]*\) .*/\1/p' "$conf"; }

idle() { sinfo -h -N -o '%T' 2>/dev/null | grep -c '^idle$' || true; }

start() {           # [NODES]
    local count=${1:-3} program name ports
    for program in slurmctld slurmd sbatch sinfo scontrol; do
        command -v $program >/dev/null || { echo "slurm.sh: no $program here" >&2; exit 77; }
    done
    ports=$(free_ports $((count + 1)))
    # shellcheck disable=SC2086
    write_conf $ports
    mkdir -p "$dir/state"
    daemon slurmctld slurmctld -D -c -f "$conf"
    for name in $(nodes); do boot "$name"; done
    for _ in $(seq 600); do
        [ "$(idle)" -eq "$count" ] && return
        for name in slurmctld $(nodes); do
            runs "$(cat "$dir/$name.pid")" || fail "$name died"
        done
        sleep 0.1
    done
    fail "the nodes are not ready"
}

# A process that has ended and that no process has waited for is a zombie. It does not count as
# running.
runs() { grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status"; }

stop() {
    local name
    [ -e "$conf" ] || return 0
    for name in slurmctld $(nodes); do crash "$name"; done
    rm -rf "$dir/state" "$dir"/*.spool "$dir"/*.run "$dir/cgroup.conf" "$conf"
}

case $1 in
start) start "${3:-}" ;;
stop) stop ;;
crash | boot) [ $# -eq 3 ] || usage; "$1" "$3" ;;
*) usage ;;
esac
