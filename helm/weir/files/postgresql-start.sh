# Starts PostgreSQL, with a database `weir` of a user `weir` made the first time. `start.sh ready`: whether it answers.
set -eu
# Debian keeps the programs in a folder for each version.
for folder in /usr/lib/postgresql/*/bin; do PATH=$folder:$PATH; done

if [ "${1:-}" = ready ]; then exec pg_isready --quiet --host /run/postgresql --username weir --dbname weir; fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # A start that was cut off leaves a folder that initdb does not take.
  rm -rf "$PGDATA" "$PGDATA.new"
  initdb --pgdata "$PGDATA.new" --username weir --pwfile /etc/postgresql-secret/password \
    --auth scram-sha-256 --encoding UTF8 --locale C >&2
  echo 'host all all all scram-sha-256' >> "$PGDATA.new/pg_hba.conf"
  echo 'create database weir' | postgres --single -D "$PGDATA.new" postgres >&2
  mv "$PGDATA.new" "$PGDATA"
fi

# SIGTERM would wait until every client has left; SIGINT disconnects them.
trap 'kill -INT "$server"' TERM
postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql &
server=$!
# The first wait ends with the signal, the second with the server.
wait "$server" || true
wait "$server"
