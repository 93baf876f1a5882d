-- Deliveries of webhooks: an append-only history and a small queue.
--
-- annals.deliveries and annals.delivery_log only grow, and lose whole partitions to retention. annals.delivery_queue is the only
-- working state: what is there will be tried, what is not there is over. What became of a delivery is read from its log.

-- What is to be sent, and why. Written by the capture triggers in the user's own transaction, by the scheduler and by commands.
create table annals.deliveries (
  id          uuid not null,
  kind        text not null,        -- event, manual, cron, scheduled, action
  trigger     text not null,        -- name of the event trigger, cron trigger or action; empty for a one-off event
  schema_name text,                 -- of an event: the table at the time of its capture
  table_name  text,
  payload     json,                 -- of an event: the member "event" of the body; otherwise the payload as given
  definition  json,                 -- of a one-off event: its webhook, headers, retry_conf and comment
  due_at      timestamptz not null, -- when it was first due: capture, or the planned instant
  created_at  timestamptz not null default now(),
  primary key (id, due_at)
) partition by range (due_at);

create table annals.deliveries_default partition of annals.deliveries default;

create index deliveries_trigger on annals.deliveries (kind, trigger, due_at desc, id);

-- What happened to it: one row per attempt, and one per decision.
create table annals.delivery_log (
  id          uuid not null default gen_random_uuid(),
  delivery_id uuid not null,
  entry       text not null,        -- attempt, redelivery, dropped, cancelled
  outcome     text,                 -- of an attempt: delivered, retry, failed
  round       int not null,         -- 1, and one more with each redelivery
  attempt     int not null,         -- of the round, from 1; 0 where nothing was sent
  status      int,                  -- HTTP, or 1000 where no answer came
  request     json,
  response    json,
  reason      text,
  node        text,
  next_due_at timestamptz,
  position    bigint,               -- of the command event that asked for it
  started_at  timestamptz,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (id, recorded_at)
) partition by range (recorded_at);

create table annals.delivery_log_default partition of annals.delivery_log default;

create index delivery_log_delivery on annals.delivery_log (delivery_id, recorded_at);

-- What is still to be tried. A lane is what is claimed, limited and paused on its own: "event:NAME" (events and manual ones),
-- "cron:NAME", "scheduled", "action:NAME". A leased row is one whose available_at is in the future and whose leased_by is set.
create table annals.delivery_queue (
  delivery_id  uuid primary key,
  first_due_at timestamptz not null, -- deliveries.due_at, to find its partition
  lane         text not null,
  available_at timestamptz not null, -- due, or the end of the lease
  lease        int not null default 0, -- counts the claims: the fence of an outcome
  leased_by    text,                 -- node
  round        int not null default 1,
  tries        int not null default 0, -- attempts recorded in this round
  ordering_key text
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

create index delivery_queue_due on annals.delivery_queue (lane, available_at, delivery_id);
