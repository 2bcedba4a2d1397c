# Ready: the cluster serves all slots, and this Redis holds what its primary holds.
set -eu
info=$(timeout 4 redis-cli -h 127.0.0.1 cluster info)
case $info in *cluster_state:ok*) ;; *) echo "the cluster is not up"; exit 1 ;; esac
case $info in *cluster_slots_assigned:16384*) ;; *) echo "some slots are nobody's"; exit 1 ;; esac
replication=$(timeout 4 redis-cli -h 127.0.0.1 info replication)
case $replication in *role:master*) ;; *master_link_status:up*) ;; *) echo "not in step with the primary"; exit 1 ;; esac
# A primary without slots has not joined yet.
timeout 4 redis-cli -h 127.0.0.1 cluster nodes | awk '$3 ~ /myself/ { ready = $3 ~ /slave/ || NF > 8 } END { exit !ready }'
