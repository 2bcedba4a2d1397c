# Before a primary stops, a replica takes over from it, with nothing lost.
set -u
here() { timeout 3 redis-cli -h 127.0.0.1 "$@"; }
case $(here role | head -n 1) in master) ;; *) exit 0 ;; esac
self=$(here cluster myid)
for address in $(here cluster nodes | awk -v id="$self" '$4 == id && $8 == "connected" && $3 !~ /fail/ { sub(/:.*/, "", $2); print $2 }'); do
  timeout 3 redis-cli -h "$address" cluster failover >/dev/null || continue
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ "$(here role | head -n 1)" = slave ] && { sleep 1; exit 0; }
    sleep 0.5
  done
done
