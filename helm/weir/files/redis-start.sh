# Starts one Redis of the cluster under its pod's address, with `redis-join.sh` beside it.
set -eu
umask 077
cat > /run/redis/redis.conf <<END
include /etc/weir/redis.conf
cluster-announce-ip $POD_IP
user default on >$(cat /etc/redis-secret/password) ~* &* +@all
user weir on >$(cat /etc/redis-secret/limiter-password) ~weir:* resetchannels -@all +evalsha +eval +get +set +time +info +ping +cluster|slots +cluster|info +client|setname
masteruser default
masterauth $(cat /etc/redis-secret/password)
END
sh /etc/weir/redis-join.sh &
exec redis-server /run/redis/redis.conf
