-- What a capture costs the writer. A captured change is kept as what the row was: the rest of the event is the same for all rows of a
-- statement, was two fifths of the payload of a small row, and was read through as JSON for each. And it is put into one index of the
-- queue instead of two.

-- The operation of a captured change. Its payload is the new row of an INSERT, the old one of a DELETE, and of an UPDATE both as
-- {"old", "new"}. Null: the payload is as it is sent. That is so for all that is no captured change, and what was captured before.
alter table annals.deliveries add column operation text;

-- Of a captured change: {"session_variables", "trace_context"}; null where the writer said neither.
alter table annals.deliveries add column origin json;

-- The member "event" of the body of a captured change, or the payload as it was given. Texts are put together, since what PostgreSQL
-- would not decode, such as \u0000, may be in a row.
create function annals.payload_text(payload json, operation text, origin json) returns text
language sql immutable as $$
  select case when operation is null then payload::text else
    '{"op":"' || operation || '","data":'
    || case operation
      when 'INSERT' then '{"old":null,"new":' || payload::text || '}'
      when 'DELETE' then '{"old":' || payload::text || ',"new":null}'
      else payload::text
    end
    || coalesce(',' || substr(origin::text, 2), ',"session_variables":null,"trace_context":null}')
  end
$$;

create function annals.payload_of(payload json, operation text, origin json) returns json
language sql immutable as $$
  select case when operation is null then payload else annals.payload_text(payload, operation, origin)::json end
$$;

-- What a transaction says of itself: whose it is, and of which trace. Most writers say neither.
create function annals.capture_origin() returns json
language sql stable as $$
  select case
    when coalesce(pg_catalog.current_setting('annals.session', true), '') operator(pg_catalog.=) ''
      and coalesce(pg_catalog.current_setting('hasura.user', true), '') operator(pg_catalog.=) ''
      and coalesce(pg_catalog.current_setting('annals.trace', true), '') operator(pg_catalog.=) ''
      and coalesce(pg_catalog.current_setting('hasura.tracecontext', true), '') operator(pg_catalog.=) ''
    then null
    else ('{"session_variables":'
      operator(pg_catalog.||) coalesce(annals.capture_setting('annals.session', 'hasura.user')::pg_catalog.text, 'null')
      operator(pg_catalog.||) ',"trace_context":'
      operator(pg_catalog.||) coalesce(annals.capture_setting('annals.trace', 'hasura.tracecontext')::pg_catalog.text, 'null')
      operator(pg_catalog.||) '}')::pg_catalog.json
  end
$$;

-- What the payloads of capture functions end with that were not written anew yet.
create or replace function annals.capture_context() returns text
language sql stable as $$
  select '},' operator(pg_catalog.||) pg_catalog.substr(
    coalesce(annals.capture_origin()::pg_catalog.text, '{"session_variables":null,"trace_context":null}'), 2)
$$;

revoke all on function annals.capture_origin() from public;

-- Numbers that tell ids apart have twelve hexadecimal digits from the start, so that they need not be filled up.
alter sequence annals.delivery_ids minvalue 17592186044416 start 17592186044416 restart; -- 16^11

create or replace function annals.delivery_id(ids text) returns uuid
language sql volatile as $$
  select (ids operator(pg_catalog.||) pg_catalog.to_hex(pg_catalog.nextval('annals.delivery_ids')))::pg_catalog.uuid
$$;

-- The queue was in the order of ids as well as of turns. Now the turn is the key. Until something became of a delivery its turn is
-- when it was first due, so it is found by what its record says; only those that were moved since are found by their ids.

alter table annals.delivery_queue drop constraint delivery_queue_pkey;

drop index annals.delivery_queue_turn;

alter table annals.delivery_queue add primary key (lane, turn_at, delivery_id);

create unique index delivery_queue_moved on annals.delivery_queue (delivery_id) where turn_at <> first_due_at;

-- Only what is ordered by a key has a place in a line, so no other change has to take a number.
alter table annals.delivery_queue alter column place drop identity, alter column place drop not null;

create sequence annals.delivery_places owned by annals.delivery_queue.place;

select setval('annals.delivery_places', coalesce(max(place), 0) + 1) from annals.delivery_queue;

alter table annals.delivery_queue alter column place set default nextval('annals.delivery_places');

-- The lane of a delivery. Inlined where it is used.
create function annals.lane_of(kind text, trigger text) returns text
language sql immutable as $$
  select case kind when 'scheduled' then 'scheduled' when 'cron' then 'cron:' || trigger when 'action' then 'action:' || trigger
    else 'event:' || trigger end
$$;

-- The place of a delivery in the queue, if it has one. Inlined where it is used.
create function annals.queued(delivery uuid, kind text, trigger text, due_at timestamptz) returns setof annals.delivery_queue
language sql stable as $$
  select q.* from annals.delivery_queue as q
  where q.lane = annals.lane_of(queued.kind, queued.trigger) and q.turn_at = queued.due_at and q.delivery_id = queued.delivery
  union all
  select q.* from annals.delivery_queue as q where q.delivery_id = queued.delivery and q.turn_at <> q.first_due_at
$$;

create or replace view annals.delivery_states as
select d.id, d.kind, d.trigger, d.schema_name, d.table_name, annals.payload_of(d.payload, d.operation, d.origin) as payload, d.definition,
  d.due_at, d.created_at, d.position,
  case
    when q.delivery_id is null then case last.entry when 'attempt' then last.outcome else coalesce(last.entry, 'unknown') end
    when q.leased_by is not null and q.available_at > pg_catalog.statement_timestamp() then 'leased'
    when q.tries > 0 then 'retrying'
    else 'pending'
  end as state,
  coalesce(q.round, last.round, 1) as round,
  coalesce(q.tries, (select max(l.attempt) from annals.delivery_log l where l.delivery_id = d.id and l.round = last.round), 0) as tries,
  q.available_at, q.lane,
  last.reason,
  (select l.status from annals.delivery_log l where l.delivery_id = d.id and l.entry = 'attempt' order by l.recorded_at desc limit 1) as status
from annals.deliveries d
left join lateral annals.queued(d.id, d.kind, d.trigger, d.due_at) q on true
left join lateral (
  select l.entry, l.outcome, l.round, l.reason from annals.delivery_log l
  where l.delivery_id = d.id order by l.recorded_at desc limit 1
) last on true;

-- What became of a delivery: from its place in the queue, or the end of its log, which is read from the day it was made on. The
-- status is one of scheduled, locked, delivered, error, dead, cancelled. Inlined where it is used.
create function annals.delivery_state(delivery uuid, kind text, trigger text, due_at timestamptz, created_at timestamptz)
returns table (status text, tries int, next_retry_at timestamptz) language sql stable as $$
  select
    case
      when q.delivery_id is not null then case when q.leased_by is not null and q.available_at > now() then 'locked' else 'scheduled' end
      when l.outcome = 'delivered' then 'delivered'
      when l.entry = 'dropped' then 'dead'
      when l.entry = 'cancelled' then 'cancelled'
      when l.delivery_id is not null then 'error'
      else 'scheduled'
    end,
    coalesce(q.tries, l.attempt, 0),
    case when q.tries > 0 and (q.leased_by is null or q.available_at <= now()) then q.available_at end
  from (select) as one
  left join annals.queued(delivery, delivery_state.kind, delivery_state.trigger, delivery_state.due_at) as q on true
  left join lateral (
    select l.delivery_id, l.entry, l.outcome,
      case when l.entry = 'attempt' then l.attempt else (
        select max(a.attempt) from annals.delivery_log as a
        where a.delivery_id = delivery and a.round = l.round and a.recorded_at >= delivery_state.created_at
      ) end as attempt
    from annals.delivery_log as l
    where l.delivery_id = delivery and l.recorded_at >= delivery_state.created_at
    order by l.recorded_at desc
    limit 1
  ) as l on q.delivery_id is null
$$;

-- Whether a view is ours to replace: not somebody else's, and not left out. It stays for later steps.
create function annals.is_own_view(view text) returns boolean language sql stable as $$
  select exists (
    select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = 'hdb_catalog' and c.relname = view and c.relkind = 'v' and pg_has_role(c.relowner, 'usage')
      and has_schema_privilege(n.oid, 'create'))
$$;

do $$
begin
  if annals.is_own_view('event_log') then
    create or replace view hdb_catalog.event_log as
      select d.id, d.schema_name, d.table_name, d.trigger as trigger_name,
        annals.as_jsonb(annals.payload_of(d.payload, d.operation, d.origin)) as payload,
        s.status = 'delivered' as delivered, s.status in ('error', 'dead') as error, s.tries, timezone('UTC', d.created_at) as created_at,
        s.status = 'locked' as locked, timezone('UTC', s.next_retry_at) as next_retry_at,
        s.status = 'cancelled' or exists (
          select from annals.capture_ends as e where e.trigger = d.trigger and e.ended_at > d.due_at
        ) as archived
      from annals.deliveries as d
      cross join lateral annals.delivery_state(d.id, d.kind, d.trigger, d.due_at, d.created_at) as s
      where d.kind in ('event', 'manual');
  end if;
  if annals.is_own_view('event_invocation_logs') then
    create or replace view hdb_catalog.event_invocation_logs as
      select l.id, l.delivery_id as event_id, l.status,
        annals.delivery_request(l.request, l.attempt, d.id, d.created_at, d.trigger, d.schema_name, d.table_name,
          annals.payload_of(d.payload, d.operation, d.origin)) as request,
        l.response, timezone('UTC', l.recorded_at) as created_at
      from annals.delivery_log as l join annals.deliveries as d on d.id = l.delivery_id
      where l.entry = 'attempt' and d.kind in ('event', 'manual');
  end if;
  if annals.is_own_view('hdb_cron_events') then
    create or replace view hdb_catalog.hdb_cron_events as
      select d.id, d.trigger as trigger_name, d.due_at as scheduled_time, s.status, s.tries, d.created_at, s.next_retry_at
      from annals.deliveries as d
      cross join lateral annals.delivery_state(d.id, d.kind, d.trigger, d.due_at, d.created_at) as s
      where d.kind = 'cron' and s.status <> 'cancelled'
        and exists (select from annals.catalog as c where c.kind = 'cron_trigger' and c.definition->>'name' = d.trigger);
  end if;
  if annals.is_own_view('hdb_scheduled_events') then
    create or replace view hdb_catalog.hdb_scheduled_events as
      select d.id, d.definition->'webhook' as webhook_conf, d.due_at as scheduled_time, d.definition->'retry_conf' as retry_conf,
        d.payload, d.definition->'headers' as header_conf, s.status, s.tries, d.created_at, s.next_retry_at, d.definition->>'comment' as comment
      from annals.deliveries as d
      cross join lateral annals.delivery_state(d.id, d.kind, d.trigger, d.due_at, d.created_at) as s
      where d.kind = 'scheduled' and s.status <> 'cancelled';
  end if;
end
$$;

-- A view that this role may no longer replace keeps the function that it calls.
do $$
begin
  drop function annals.delivery_state(uuid, timestamptz);
exception when dependent_objects_still_exist then
  null;
end
$$;

create or replace function annals.cancel_read_event() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  queued annals.delivery_queue;
begin
  delete from annals.delivery_queue as q
  using annals.deliveries as d, lateral annals.queued(d.id, d.kind, d.trigger, d.due_at) as place
  where d.id = old.id and q.lane = place.lane and q.turn_at = place.turn_at and q.delivery_id = place.delivery_id
    and (q.leased_by is null or q.available_at <= clock_timestamp())
  returning q.* into queued;
  if not found then
    return null;
  end if;
  insert into annals.delivery_log (delivery_id, entry, round, attempt, reason)
  values (queued.delivery_id, 'cancelled', queued.round, 0, format('deleted from hdb_catalog.%s by %s', tg_table_name, session_user));
  return old;
end
$$;
