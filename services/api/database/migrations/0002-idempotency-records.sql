create table idempotency_records (
  client text collate "C" not null,
  key text collate "C" not null,
  -- What the client asked for under this key.
  fingerprint text collate "C" not null,
  -- What it was answered with.
  response text not null,
  created_at timestamptz not null default now(),
  primary key (client, key)
);

create index idempotency_records_by_age on idempotency_records (created_at);
