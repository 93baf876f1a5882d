-- A captured change is kept as what the row was: the rest of the event is the same for all rows of a statement, and was two fifths
-- of what a small row took on the disk and in the log of the database, and read through as JSON once for each row.

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

-- What a transaction says of itself: whose it is, and of which trace. Most writers say neither. (annals.capture_context is called by
-- capture functions until they are written anew.)
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

revoke all on function annals.capture_origin() from public;

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
left join annals.delivery_queue q on q.delivery_id = d.id
left join lateral (
  select l.entry, l.outcome, l.round, l.reason from annals.delivery_log l
  where l.delivery_id = d.id order by l.recorded_at desc limit 1
) last on true;

-- Whether a view is ours to replace: not somebody else's, and not left out.
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
      cross join lateral annals.delivery_state(d.id, d.created_at) as s
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
end
$$;

drop function annals.is_own_view(text);
