-- What v1.3 keeps in tables, scripts and the 1.x console read: views of the same names and columns, in the schema hdb_catalog.
--
-- A database that comes from v1.3 has the tables themselves. Whatever has one of the names already stays as it is, and a role
-- that may not make the schema goes without: the views are a convenience, and nothing here depends on them.

-- Which installation this is, and what the command line and the console of v1.3 keep with it.
create table annals.installation (
  only_row      boolean primary key default true,
  id            uuid not null default gen_random_uuid(),
  made_at       timestamptz not null default now(),
  cli_state     jsonb not null default '{}',
  console_state jsonb not null default '{}'
);

insert into annals.installation default values;

-- What became of a delivery: from its place in the queue, or the end of its log, which is read from the day it was made on. The
-- status is one of scheduled, locked, delivered, error, dead, cancelled. Inlined where it is used.
create function annals.delivery_state(delivery uuid, created_at timestamptz)
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
  left join annals.delivery_queue as q on q.delivery_id = delivery
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

create function annals.make_read_model(name text, query text) returns void language plpgsql as $$
begin
  if to_regclass('hdb_catalog.' || quote_ident(name)) is null then
    execute format('create view hdb_catalog.%I as %s', name, query);
  end if;
end
$$;

do $$
begin
  if to_regnamespace('hdb_catalog') is null then
    if not has_database_privilege(current_database(), 'create') then
      raise notice 'the schema hdb_catalog is left out: % may not make schemas in this database', current_user;
      return;
    end if;
    create schema hdb_catalog;
  elsif not has_schema_privilege('hdb_catalog', 'create') then
    raise notice 'the views of hdb_catalog are left out: the schema is somebody else''s';
    return;
  end if;

  perform annals.make_read_model('hdb_version', $view$
    select id as hasura_uuid, '40'::text as version, made_at as upgraded_on, cli_state, console_state from annals.installation
  $view$);

  perform annals.make_read_model('event_triggers', $view$
    select c.definition->>'name' as name, 'table'::text as type,
      c.definition->'table'->>'schema' as schema_name, c.definition->'table'->>'name' as table_name,
      json_build_object('name', c.definition->'name', 'definition', c.definition->'definition', 'webhook', c.definition->'webhook',
        'webhook_from_env', c.definition->'webhook_from_env', 'retry_conf', c.definition->'retry_conf', 'headers', c.definition->'headers') as configuration,
      null::text as comment
    from annals.catalog as c where c.kind = 'event_trigger'
  $view$);

  perform annals.make_read_model('event_log', $view$
    select d.id, d.schema_name, d.table_name, d.trigger as trigger_name, d.payload::jsonb as payload,
      s.status = 'delivered' as delivered, s.status in ('error', 'dead') as error, s.tries, timezone('UTC', d.created_at) as created_at,
      s.status = 'locked' as locked, timezone('UTC', s.next_retry_at) as next_retry_at,
      s.status = 'cancelled' or exists (
        select from annals.capture_ends as e where e.trigger = d.trigger and e.ended_at > d.due_at
      ) as archived
    from annals.deliveries as d
    cross join lateral annals.delivery_state(d.id, d.created_at) as s
    where d.kind in ('event', 'manual')
  $view$);

  perform annals.make_read_model('event_invocation_logs', $view$
    select l.id, l.delivery_id as event_id, l.status, l.request, l.response, timezone('UTC', l.recorded_at) as created_at
    from annals.delivery_log as l
    where l.entry = 'attempt' and exists (select from annals.deliveries as d where d.id = l.delivery_id and d.kind in ('event', 'manual'))
  $view$);

  perform annals.make_read_model('hdb_cron_triggers', $view$
    select c.definition->>'name' as name, c.definition->'webhook' as webhook_conf, c.definition->>'schedule' as cron_schedule,
      c.definition->'payload' as payload, c.definition->'retry_conf' as retry_conf, c.definition->'headers' as header_conf,
      (c.definition->>'include_in_metadata')::boolean as include_in_metadata, c.definition->>'comment' as comment
    from annals.catalog as c where c.kind = 'cron_trigger'
  $view$);

  perform annals.make_read_model('hdb_cron_events', $view$
    select d.id, d.trigger as trigger_name, d.due_at as scheduled_time, s.status, s.tries, d.created_at, s.next_retry_at
    from annals.deliveries as d
    cross join lateral annals.delivery_state(d.id, d.created_at) as s
    where d.kind = 'cron' and s.status <> 'cancelled'
  $view$);

  perform annals.make_read_model('hdb_cron_event_invocation_logs', $view$
    select l.id, l.delivery_id as event_id, l.status, l.request, l.response, l.recorded_at as created_at
    from annals.delivery_log as l
    where l.entry = 'attempt' and exists (select from annals.deliveries as d where d.id = l.delivery_id and d.kind = 'cron')
  $view$);

  perform annals.make_read_model('hdb_scheduled_events', $view$
    select d.id, d.definition->'webhook' as webhook_conf, d.due_at as scheduled_time, d.definition->'retry_conf' as retry_conf,
      d.payload, d.definition->'headers' as header_conf, s.status, s.tries, d.created_at, s.next_retry_at, d.definition->>'comment' as comment
    from annals.deliveries as d
    cross join lateral annals.delivery_state(d.id, d.created_at) as s
    where d.kind = 'scheduled' and s.status <> 'cancelled'
  $view$);

  perform annals.make_read_model('hdb_scheduled_event_invocation_logs', $view$
    select l.id, l.delivery_id as event_id, l.status, l.request, l.response, l.recorded_at as created_at
    from annals.delivery_log as l
    where l.entry = 'attempt' and exists (select from annals.deliveries as d where d.id = l.delivery_id and d.kind = 'scheduled')
  $view$);
end
$$;

drop function annals.make_read_model(text, text);
