# Makes the pods of the StatefulSet one Redis Cluster, and again after any of them came back with another address or without its data.
#
# Every pod does this for itself, over and over, unless all is well: every pod is known, linked, not failing, and this one has its role.
#   1. It meets the pods that it has no working link to, by name. Only who knows our password is one of ours: an address may have
#      gone over to somebody else's Redis.
#   2. It forgets nodes that are no pod any more (their data is gone) and that no replica will succeed.
#   3. As a replica it follows its primary to another address: Redis may go on asking for it at the one before.
#   4. If it holds no slots, it takes the range of its number, unless another pod knows somebody who holds it; else it becomes a
#      replica of the primary that has the fewest.
# Needs PODS (names), PRIMARIES and REDISCLI_AUTH.
set -u
index=${HOSTNAME##*-}
pods=$(echo "$PODS" | wc -w)
last=-1
strayed=0
log() { [ "$*" = "$last" ] || echo "join: $*"; last="$*"; }
redis() { host=$1; shift; timeout 3 redis-cli -h "$host" "$@" 2>/dev/null; }
address_of() { getent ahostsv4 "$1" 2>/dev/null | awk '{ print $1; exit }'; }
# Lines of CLUSTER NODES: id address flags primary ping pong epoch link slot…
nodes() { redis 127.0.0.1 cluster nodes; }

first_slot=$((16384 * index / PRIMARIES))
last_slot=$((16384 * (index + 1) / PRIMARIES - 1))

is_well() {
  nodes | awk -v pods="$pods" '
    $8 != "connected" || $3 ~ /fail|noaddr|handshake/ || ($3 ~ /myself/ && $3 !~ /slave/ && NF <= 8) { ill = 1 } END { exit ill || NR != pods }'
}

meet_peers() {
  peers=0; answered=0; members=""
  for pod in $PODS; do
    peers=$((peers + 1))
    address=$(address_of "$pod"); [ -n "$address" ] || continue
    id=$(redis "$address" cluster myid); [ "${#id}" = 40 ] || continue
    answered=$((answered + 1)); members="$members $id"
    [ "$id" = "$self" ] && continue
    nodes | awk -v id="$id" -v at="$address:6379@" \
      '$1 == id && index($2, at) == 1 && $8 == "connected" && $3 !~ /handshake|noaddr/ { known = 1 } END { exit !known }' && continue
    log "meeting $pod at $address"
    redis 127.0.0.1 cluster meet "$address" 6379 >/dev/null
  done
}

# Only when every pod has said who it is: what is left in the table then is gone for good. A dead primary stays while a
# replica of it can succeed it.
forget_the_gone() {
  [ "$answered" = "$peers" ] || return 0
  nodes | awk -v members="$members " '
    { id[NR] = $1; flags[NR] = $3; if (index(members, " " $1 " ") > 0 && $4 != "-") alive[$4] = 1 }
    END { for (n = 1; n <= NR; n++) if (index(members, " " id[n] " ") == 0 && flags[n] !~ /handshake/ && !alive[id[n]]) print id[n] }' |
    while read -r gone; do log "forgetting $gone"; redis 127.0.0.1 cluster forget "$gone" >/dev/null; done
}

# Whether any pod knows who holds the first slot of our range.
is_held() {
  for pod in $PODS; do
    address=$(address_of "$pod"); [ -n "$address" ] || continue
    redis "$address" cluster nodes | awk -v first="$first_slot" '
      { for (n = 9; n <= NF; n++) if (split($n, range, "-") >= 1 && $n !~ /^\[/) { to = range[2] == "" ? range[1] : range[2]
          if (range[1] + 0 <= first && first <= to + 0) held = 1 } } END { exit !held }' && return 0
  done
  return 1
}

# The primary with the fewest replicas that live; of several the one whose number fits ours.
primary_to_follow() {
  nodes | awk -v wanted="$((16384 * (index % PRIMARIES) / PRIMARIES))" '
    $3 ~ /master/ && $3 !~ /fail|noaddr|handshake/ && NF > 8 { split($9, range, "-"); begins[$1] = range[1] }
    $3 ~ /slave/ && $3 !~ /fail|noaddr/ { replicas[$4]++ }
    END { for (id in begins) { rank = 2 * replicas[id] + (begins[id] == wanted ? 0 : 1); if (best == "" || rank < lowest) { best = id; lowest = rank } } print best }'
}

# Whether this replica asks for its primary where it is not. In step, it cannot.
is_astray() {
  replication=$(redis 127.0.0.1 info replication | tr -d '\r')
  case $replication in *role:slave*master_link_status:down*) ;; *) return 1 ;; esac
  asked=$(echo "$replication" | sed -n 's/^master_host://p')
  address=$(nodes | awk '{ at[$1] = $2 } $3 ~ /myself/ { primary = $4 } END { sub(/:.*/, "", at[primary]); print at[primary] }')
  [ -n "$address" ] && [ "$asked" != "$address" ]
}

# A newer Redis takes no second word for the primary that it has: as a replica it loses nothing by beginning anew.
follow_primary() {
  is_astray || { strayed=0; return 0; }
  strayed=$((strayed + 1))
  log "the primary is no longer at $asked, but at $address"
  if [ "$strayed" -gt 3 ]; then redis 127.0.0.1 shutdown nosave; return 0; fi
  redis 127.0.0.1 cluster replicate "$(nodes | awk '$3 ~ /myself/ { print $4 }')" >/dev/null
}

take_a_role() {
  mine=$(nodes | awk '$3 ~ /myself/ { print ($3 ~ /slave/ ? "replica" : NF > 8 ? "primary" : "none") }')
  [ "$mine" = none ] || return 0
  # A pod that is cut off from most others decides nothing.
  [ $((answered * 2)) -gt "$peers" ] || { log "$answered of $peers pods answer"; return 0; }
  if [ "$index" -lt "$PRIMARIES" ] && ! is_held; then
    log "taking the slots $first_slot to $last_slot"
    redis 127.0.0.1 cluster addslotsrange "$first_slot" "$last_slot" >/dev/null
    redis 127.0.0.1 cluster bumpepoch >/dev/null
    return 0
  fi
  primary=$(primary_to_follow); [ -n "$primary" ] || return 0
  log "replica of $primary"
  redis 127.0.0.1 cluster replicate "$primary" >/dev/null
}

until [ "$(redis 127.0.0.1 ping)" = PONG ]; do sleep 0.2; done
while :; do
  if is_well && ! is_astray; then sleep 5; continue; fi
  self=$(redis 127.0.0.1 cluster myid)
  [ "${#self}" = 40 ] && { meet_peers; forget_the_gone; follow_primary; take_a_role; }
  if redis 127.0.0.1 cluster info | grep -q 'cluster_slots_assigned:16384'; then sleep 5; else sleep 1; fi
done
