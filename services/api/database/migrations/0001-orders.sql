-- Identifiers and references are compared byte by byte (collation "C"): their order is that of the identifiers, on every server.
create table orders (
  id text collate "C" primary key,
  -- 'user:<owner>', 'key:<id>', or 'public' for the demo orders that anybody may read.
  owner text collate "C" not null,
  reference text collate "C",
  customer_reference text collate "C",
  state text collate "C" not null,
  currency text collate "C" not null,
  note text,
  -- Minor units of the currency.
  shipping integer not null,
  version integer not null default 1,
  -- Whole milliseconds, because a cursor carries them through JavaScript.
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

-- One index for each way to walk an owner's orders, newest first.
create index orders_by_owner on orders (owner, created_at desc, id desc);
create index orders_by_state on orders (owner, state, created_at desc, id desc);
create index orders_by_customer on orders (owner, customer_reference, created_at desc, id desc);
create unique index orders_reference on orders (owner, reference) where reference is not null;

create table order_items (
  order_id text collate "C" not null references orders (id) on delete cascade,
  -- In the order of the items in the order.
  id text collate "C" not null,
  sku text collate "C" not null,
  quantity integer not null,
  unit_price integer not null,
  primary key (order_id, id)
);

create index order_items_by_sku on order_items (order_id, sku, id);
