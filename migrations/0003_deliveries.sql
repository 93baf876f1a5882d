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

create index deliveries_trigger on annals.deliveries (kind, trigger, due_at, id); -- ascending: what comes is put at its right end

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

-- When an event trigger of that name was last removed: what it had captured until then is archived, and never sent. A trigger
-- that is made again under the name starts anew.
create table annals.capture_ends (
  trigger  text primary key,
  ended_at timestamptz not null
);

-- What follows is called by the capture triggers, which package capture writes: one for each operation an event trigger
-- listens to. They run as the owner of this schema, in the user's own transaction, and notify nobody: a commit that notifies
-- holds a lock of the whole cluster.

-- An id that sorts by its time (version 7), so that the newest rows of an index lie together. Inlined where it is used.
create function annals.delivery_id(made_at timestamptz) returns uuid
language sql volatile as $$
  select (pg_catalog.lpad(pg_catalog.to_hex((extract(epoch from made_at) * 1000)::pg_catalog.int8), 12, '0')
    operator(pg_catalog.||) '-7' operator(pg_catalog.||) pg_catalog.substr(pg_catalog.gen_random_uuid()::pg_catalog.text, 16))::pg_catalog.uuid
$$;

-- Whether changes of rows are to be captured now. SQL that reshapes tables through the service turns it off for its transaction.
create function annals.captures() returns boolean
language sql stable as $$
  select pg_catalog.current_setting('annals.capture', true) is distinct from 'off'
$$;

-- What a setting of the transaction holds as JSON, null where nobody set it; a text that is no JSON becomes a string, since no
-- change of a row may fail for it.
create function annals.capture_setting(name text, alias text) returns json
language plpgsql stable as $$
declare
  setting text := coalesce(nullif(pg_catalog.current_setting(name, true), ''), nullif(pg_catalog.current_setting(alias, true), ''));
begin
  if setting is null then
    return null;
  end if;
  begin
    return setting::json;
  exception when invalid_text_representation then
    return pg_catalog.to_json(setting);
  end;
end
$$;

-- Those members of a row's image that were asked for, in the order of the table's columns. A column that is not there any more
-- is left out.
create function annals.capture_image(image json, columns text[]) returns json
language sql immutable as $$
  select coalesce(pg_catalog.json_object_agg(m.key, m.value), '{}') from pg_catalog.json_each(image) as m where m.key = any (columns)
$$;

revoke all on function annals.captures(), annals.delivery_id(timestamptz), annals.capture_setting(text, text), annals.capture_image(json, text[]) from public;
