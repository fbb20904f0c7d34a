#!/bin/bash
# Several machines on one: network namespaces, joined by a bridge, with two ranks on each.
# usage: test_machines.sh JOB_RANK
set -uo pipefail
program=$1
machines=3
id=$$
folder=$(mktemp -d)

clean_up() {
  for ((m = 0; m < machines; ++m)); do
    ip netns pids "detcore-$id-$m" 2>/dev/null | xargs -r kill -9 2>/dev/null
    ip netns del "detcore-$id-$m" 2>/dev/null
  done
  ip link del "dc$id" 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT

if ! { command -v ip && ip netns add "detcore-$id-0" && ip link add "dc$id" type bridge; } >/dev/null 2>&1; then
  echo "skipped: this machine lets us make no network namespaces (iproute2 and root are needed)"
  exit 77
fi
ip link set "dc$id" up
for ((m = 0; m < machines; ++m)); do
  [ $m = 0 ] || ip netns add "detcore-$id-$m"
  ip link add "v$m-$id" type veth peer name eth0 netns "detcore-$id-$m"
  ip link set "v$m-$id" master "dc$id" up
  ip -n "detcore-$id-$m" address add "10.213.7.$((m + 1))/24" dev eth0
  ip -n "detcore-$id-$m" link set eth0 up
  ip -n "detcore-$id-$m" link set lo up
done

# Starts every rank; their process ids are in `ranks`.
start_job() {
  ranks=()
  for ((m = 0; m < machines; ++m)); do
    for l in 0 1; do
      env -u DET_SESSION_TOKEN RANK=$((2 * m + l)) WORLD_SIZE=$((2 * machines)) LOCAL_RANK=$l LOCAL_WORLD_SIZE=2 \
        GROUP_RANK=$m GROUP_WORLD_SIZE=$machines DET_CHIEF_IP=10.213.7.1 \
        DET_DISTRIBUTED_SECRET=of-this-test "$@" ip netns exec "detcore-$id-$m" \
        "$program" "$rounds" >"$folder/out.$((2 * m + l))" 2>&1 &
      ranks+=($!)
    done
  done
}

fail() {
  echo "not so: $1"
  tail "$folder"/out.*
  exit 1
}

rounds=200
start_job DET_DISTRIBUTED_TIMEOUT=900
for rank in "${ranks[@]}"; do wait "$rank" || fail "every rank takes part in every collective"; done
echo "$machines machines, ${#ranks[@]} ranks: $rounds rounds"

# One rank does not know the secret: nobody gets a job with it.
start_job DET_DISTRIBUTED_TIMEOUT=3 DET_DISTRIBUTED_SECRET=
for rank in "${ranks[@]}"; do wait "$rank" && fail "ranks without a secret are refused"; done
grep -q DET_DISTRIBUTED_SECRET "$folder/out.5" || fail "the error names the secret"

# The cable of a machine is pulled: every rank is told, also those on that machine.
rounds=0
start_job DET_DISTRIBUTED_TIMEOUT=10
for _ in $(seq 9000); do
  [ "$(cat "$folder"/out.* | grep -c joined)" = ${#ranks[@]} ] && break
  sleep 0.1
done
ip link set "v2-$id" down
for rank in "${ranks[@]}"; do wait "$rank" || fail "every rank hears of the lost machine"; done
[ "$(cat "$folder"/out.* | grep -c lost)" = ${#ranks[@]} ] || fail "every rank says what it lost"
echo "a lost machine: $(grep -h lost "$folder/out.0")"
