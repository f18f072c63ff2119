#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A real S3 service on loopback: Ceph's radosgw over one monitor and one OSD that keeps its
# objects in memory, up to 8 GiB; with RADOSGW_FILE, in that (sparse) file.  No root, no system
# services; up in about a second.
#
#     radosgw.sh start DIR [PID]  starts it; DIR (short: sockets are in it) gets all state and logs,
#                                 and DIR/env the endpoints and keys as shell assignments; with PID,
#                                 it is stopped when that process has ended, however it did
#     radosgw.sh stop DIR         ends it and removes its state
#
# It needs the Debian packages radosgw, ceph-mon, ceph-osd, curl and openssl.  Exit status 77: they
# are not there.
set -eu
export LC_ALL=C

usage() { echo "usage: $0 start|stop DIR [PID]" >&2; exit 2; }
[ $# -eq 2 ] || [ $# -eq 3 ] || usage
mkdir -p "$2"
dir=$(cd "$2" && pwd)
conf=$dir/ceph.conf
access=AKIASHEAFTESTACCESSK
secret=sheaf/test+secret/sheaf+test/secret/shea
host=s3.localhost               # libcurl knows by itself that *.localhost is this machine

# The program that calls this script removes DIR, so the ends of the logs are shown.
fail() { echo "radosgw.sh: $*" >&2; tail -n 5 "$dir"/*.out >&2; stop; exit 1; }
log() { local name=$1; shift; "$@" >>"$dir/$name.out" 2>&1; }

# COUNT: prints this number of ports on which no program listens. They are below the ports that the
# kernel gives to connections, because a connection could otherwise take one before the daemon does.
free_ports() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    try:
        held.append(socket.create_server(("127.0.0.1", random.randrange(10000, 32000))))
    except OSError:
        pass
print(*(s.getsockname()[1] for s in held))
PYTHON
}

write_store() {
    if [ -z "${RADOSGW_FILE-}" ]; then
        printf 'osd objectstore = memstore\nmemstore device bytes = 8589934592'
    else
        printf 'osd objectstore = bluestore\nosd memory target = 2147483648\n'
        printf 'bluestore block path = %s\nbluestore block size = 137438953472' "$RADOSGW_FILE"
    fi
}

write_conf() {      # PLAIN-PORT TLS-PORT MON-PORT
    local quiet=
    local part
    for part in mon paxos osd ms objclass monc auth rgw objecter rados client filestore; do
        quiet="$quiet
debug $part = 0/0"
    done
    # tcp_nodelay: without this option, each small answer waits 40 ms for an acknowledgement.
    # s3 auth order: with this option, wrong keys get the same error codes as from Amazon.
    cat >"$conf" <<CONF
[global]
fsid = 5eaf0000-0000-4000-8000-000000000000
mon host = v2:127.0.0.1:$3
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
ms bind ipv6 = false
ms crc data = false
ms mon client mode = crc secure
auth cluster required = none
auth service required = none
auth client required = none
run dir = $dir
admin socket = $dir/\$name.asok
pid file =
log file = $dir/\$name.log
log to stderr = false
crash dir = $dir
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0$quiet
[mon]
mon data = $dir/mon
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail warn = 1
mon data avail crit = 1
mon cluster log to file = false
paxos propose interval = 0.02
paxos min wait = 0.01
[osd]
osd data = $dir/osd
$(write_store)
osd crush initial weight = 1
osd class update on start = false
osd enable op tracker = false
osd max object name len = 2048
osd max object namespace len = 256
[client]
rgw frontends = beast tcp_nodelay=1 endpoint=127.0.0.1:$1 ssl_endpoint=127.0.0.1:$2 ssl_certificate=$dir/tls.crt ssl_private_key=$dir/tls.key
rgw dns name = $host
rgw data = $dir/rgw
rgw s3 auth use sts = true
rgw s3 auth order = local, sts
rgw sts key = sixteenbyteslong
rgw sts min session duration = 1
rgw rados pool pg num min = 8
rgw enable usage log = false
rgw enable ops log = false
rgw dynamic resharding = false
rgw override bucket index max shards = 1
rgw run sync thread = false
rgw thread pool size = 64
CONF
}

daemon() {          # NAME COMMAND...: a daemon that stays in the foreground, in the background
    local name=$1; shift
    setsid "$@" >>"$dir/$name.out" 2>&1 </dev/null &
    echo $! >"$dir/$name.pid"
}

# PID: starts a process that stops the service when PID has ended, unless it was stopped before.
watch() { setsid "$0" watch "$dir" "$1" >/dev/null 2>&1 </dev/null & }
wait_for() { while runs "$1"; do [ -d "$dir/mon" ] || exit 0; sleep 0.5; done; }

admin() { log rgw timeout 300 radosgw-admin -c "$conf" "$@" || fail "radosgw-admin $1 $2 failed"; }

role() {            # NAME POLICY
    admin role create --role-name="$1" --path=/ --assume-role-policy-doc='{"Version":"2012-10-17",
        "Statement":[{"Effect":"Allow","Principal":{"AWS":["arn:aws:iam:::user/test"]},
        "Action":["sts:AssumeRole"]}]}'
    admin role-policy put --role-name="$1" --policy-name=its --policy-doc="$2"
}

start() {
    local plain tls mon uuid=5eaf0000-0000-4000-8000-000000000001 try
    local program preload=${LD_PRELOAD-}
    for program in radosgw ceph-mon ceph-osd radosgw-admin ceph monmaptool openssl curl; do
        command -v $program >/dev/null || { echo "radosgw.sh: no $program here" >&2; exit 77; }
    done
    read -r plain tls mon <<<"$(free_ports 3)"
    mkdir -p "$dir/mon" "$dir/osd" "$dir/rgw"
    [ -z "$1" ] || watch "$1"
    log rgw openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
        -subj "/CN=$host" -addext "subjectAltName=DNS:$host,DNS:*.$host,DNS:localhost,IP:127.0.0.1" \
        -keyout "$dir/tls.key" -out "$dir/tls.crt" || fail "no certificate"
    write_conf "$plain" "$tls" "$mon"
    log mon monmaptool --create --clobber --fsid 5eaf0000-0000-4000-8000-000000000000 \
        --addv a "[v2:127.0.0.1:$mon]" "$dir/monmap" || fail "no monitor map"
    log mon ceph-mon -c "$conf" -i a --mkfs --monmap "$dir/monmap" || fail "no monitor"
    daemon mon ceph-mon -c "$conf" -i a -f
    # The data ends with the service, so it need not be synced. Without this library, the service is
    # slower.
    [ -z "${RADOSGW_FILE-}" ] || preload=libeatmydata.so
    log osd ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid $uuid || fail "no OSD"
    log osd timeout 300 ceph -c "$conf" osd new $uuid 0 || fail "the OSD is not taken"
    # Without these settings, glibc would return every 4 MiB buffer to the kernel, and page it in
    # again.
    export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=17179869184
    LD_PRELOAD=$preload daemon osd ceph-osd -c "$conf" -i 0 -f
    admin user create --uid=test --display-name=test --access-key="$access" \
        --secret-key="$secret" --caps='roles=*;user-policy=*'
    daemon rgw radosgw -c "$conf" -n client.rgw -f
    role all '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*"],
        "Resource":"arn:aws:s3:::*"}]}'
    # A role of one tenant, which may read the tenant's own prefix of the bucket "shared".
    role tenant-a '{"Version":"2012-10-17","Statement":[
        {"Effect":"Allow","Action":["s3:GetObject"],"Resource":"arn:aws:s3:::shared/a/*"},
        {"Effect":"Allow","Action":["s3:ListBucket"],"Resource":"arn:aws:s3:::shared",
         "Condition":{"StringLike":{"s3:prefix":"a/*"}}}]}'
    for try in $(seq 6000); do
        curl -s -o "$dir/answer" --noproxy '*' --max-time 2 "http://127.0.0.1:$plain/" && break
        runs "$(cat "$dir/rgw.pid")" || fail "radosgw died"
        [ "$try" -lt 6000 ] || fail "radosgw does not answer"
        sleep 0.05
    done
    cat >"$dir/env" <<ENV
S3_PLAIN=http://127.0.0.1:$plain
S3_TLS=https://127.0.0.1:$tls
S3_PLAIN_NAMED=http://$host:$plain
S3_TLS_NAMED=https://$host:$tls
S3_CA=$dir/tls.crt
S3_ACCESS=$access
S3_SECRET=$secret
S3_ROLE_ALL=arn:aws:iam:::role/all
S3_ROLE_TENANT=arn:aws:iam:::role/tenant-a
ENV
}

# A process that has ended and that no process has waited for is a zombie. It does not count as
# running.
runs() { grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status"; }

# The data is not kept, so it is not flushed either.
stop() {
    local name pid try
    for name in rgw osd mon; do
        [ -s "$dir/$name.pid" ] || continue
        pid=$(cat "$dir/$name.pid")
        kill -9 "$pid" 2>/dev/null || true
        for try in $(seq 200); do runs "$pid" || break; sleep 0.02; done
        rm -f "$dir/$name.pid"
    done
    rm -rf "$dir/mon" "$dir/osd" "$dir/rgw" "$dir/monmap" "$dir/env" "$dir/answer" "$dir"/*.asok
}

case $1 in
start) start "${3-}" ;;
stop) stop ;;
watch) wait_for "$3"; stop ;;
*) usage ;;
esac
