-- The views of v1.3's names show payloads as jsonb, which does not hold all JSON: a text with \u0000 in it, half of a surrogate
-- pair, a number without end. One such payload must not keep the others from being read.

-- JSON as jsonb; where that cannot be, its text.
create function annals.as_jsonb(value json) returns jsonb
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  return value::jsonb;
exception when data_exception or program_limit_exceeded then
  return to_jsonb(value::text);
end
$$;

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
      select d.id, d.schema_name, d.table_name, d.trigger as trigger_name, annals.as_jsonb(d.payload) as payload,
        s.status = 'delivered' as delivered, s.status in ('error', 'dead') as error, s.tries, timezone('UTC', d.created_at) as created_at,
        s.status = 'locked' as locked, timezone('UTC', s.next_retry_at) as next_retry_at,
        s.status = 'cancelled' or exists (
          select from annals.capture_ends as e where e.trigger = d.trigger and e.ended_at > d.due_at
        ) as archived
      from annals.deliveries as d
      cross join lateral annals.delivery_state(d.id, d.created_at) as s
      where d.kind in ('event', 'manual');
  end if;
  if annals.is_own_view('hdb_action_log') then
    create or replace view hdb_catalog.hdb_action_log as
      select id, action as action_name, annals.as_jsonb(input) as input_payload, annals.as_jsonb(headers) as request_headers,
        session as session_variables, annals.as_jsonb(response) as response_payload, annals.as_jsonb(errors) as errors,
        created_at, responded_at as response_received_at, status
      from annals.action_log;
  end if;
end
$$;

drop function annals.is_own_view(text);
