-- The requests of event triggers are remembered without their bodies, which follow from the delivery's record. They are two thirds
-- of what an attempt takes on the disk, and in the log of the database.

-- The request of an attempt as it was sent: see RequestLog and Body in domain/delivery. One that was kept whole stays as it is. Texts
-- are put together, since what PostgreSQL would not decode, such as \u0000, may be in a payload.
create function annals.delivery_request(request json, attempt int, id uuid, created_at timestamptz, trigger text, schema_name text,
  table_name text, payload json) returns json
language sql stable as $$
  select case when starts_with(request::text, '{"max_retries":') then (
    '{"payload":{"id":"' || id
    || '","created_at":"' || rtrim(rtrim(to_char(timezone('UTC', created_at), 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.')
    || 'Z","trigger":{"name":' || to_json(trigger)
    || '},"table":{"schema":' || to_json(coalesce(schema_name, '')) || ',"name":' || to_json(coalesce(table_name, ''))
    || '},"event":' || coalesce(payload::text, 'null')
    || ',"delivery_info":{"current_retry":' || attempt - 1
    || ',"max_retries":' || substr(split_part(request::text, ',', 1), length('{"max_retries":') + 1)
    || '}},' || substr(request::text, strpos(request::text, ',') + 1)
  )::json else request end
$$;

do $$
begin
  if exists (
    select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = 'hdb_catalog' and c.relname = 'event_invocation_logs' and c.relkind = 'v' and pg_has_role(c.relowner, 'usage')
      and has_schema_privilege(n.oid, 'create')
  ) then -- else somebody else's, or left out
    create or replace view hdb_catalog.event_invocation_logs as
      select l.id, l.delivery_id as event_id, l.status,
        annals.delivery_request(l.request, l.attempt, d.id, d.created_at, d.trigger, d.schema_name, d.table_name, d.payload) as request,
        l.response, timezone('UTC', l.recorded_at) as created_at
      from annals.delivery_log as l join annals.deliveries as d on d.id = l.delivery_id
      where l.entry = 'attempt' and d.kind in ('event', 'manual');
  end if;
end
$$;
