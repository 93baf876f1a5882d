-- The read models of cron and one-off events do what the tables of v1.3 did: the events of a cron trigger that was deleted are gone
-- from them, and deleting an event that waits cancels it, which is how the 1.x console does it. What was tried stays: of an event
-- that is over or being sent no row is deleted, and the count says so.

-- Attempts have ids that sort by their time; so have decisions from now on, and the log can be read from its end by its key.
alter table annals.delivery_log alter column id set default annals.delivery_id(clock_timestamp());

create function annals.cancel_read_event() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  queued annals.delivery_queue;
begin
  delete from annals.delivery_queue as q
  where q.delivery_id = old.id and (q.leased_by is null or q.available_at <= clock_timestamp())
  returning q.* into queued;
  if not found then
    return null;
  end if;
  insert into annals.delivery_log (delivery_id, entry, round, attempt, reason)
  values (queued.delivery_id, 'cancelled', queued.round, 0, format('deleted from hdb_catalog.%s by %s', tg_table_name, session_user));
  return old;
end
$$;

do $$
declare
  name text;
begin
  foreach name in array array['hdb_cron_events', 'hdb_scheduled_events'] loop
    if not exists (
      select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
      where n.nspname = 'hdb_catalog' and c.relname = name and c.relkind = 'v' and pg_has_role(c.relowner, 'usage')
        and has_schema_privilege(n.oid, 'create')
    ) then
      continue; -- somebody else's, or left out
    end if;
    execute format('create trigger cancel_deleted instead of delete on hdb_catalog.%I for each row execute function annals.cancel_read_event()', name);
    if name = 'hdb_cron_events' then
      create or replace view hdb_catalog.hdb_cron_events as
        select d.id, d.trigger as trigger_name, d.due_at as scheduled_time, s.status, s.tries, d.created_at, s.next_retry_at
        from annals.deliveries as d
        cross join lateral annals.delivery_state(d.id, d.created_at) as s
        where d.kind = 'cron' and s.status <> 'cancelled'
          and exists (select from annals.catalog as c where c.kind = 'cron_trigger' and c.definition->>'name' = d.trigger);
    end if;
  end loop;
end
$$;

-- The same as before, by a clock that stands still during a statement: so a statement that asks for a few rows of the view reads those.
create or replace view annals.delivery_states as
select d.id, d.kind, d.trigger, d.schema_name, d.table_name, d.payload, d.definition, d.due_at, d.created_at, d.position,
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

-- The events of event triggers that are over and that a filter finds, the oldest first, at most so many. Those that did not go well
-- are few, and found in the log. Inlined where it is used.
create function annals.events_over(triggers text[], states text[], statuses int[], since timestamptz, until timestamptz, most int)
returns table (id uuid, due_at timestamptz, trigger text, round int)
language sql stable as $$
  select s.id, s.due_at, s.trigger, s.round
  from (
    select d.id, d.due_at
    from annals.deliveries d
    where d.kind in ('event', 'manual') and d.trigger = any(triggers)
      and d.due_at >= coalesce(since, '-infinity') and d.due_at < coalesce(until, 'infinity')
      and (not states <@ '{failed,cancelled}' or d.id in (
        select l.delivery_id from annals.delivery_log l where l.outcome = 'failed' or l.entry <> 'attempt'))
    order by d.due_at, d.id
    offset 0 -- keys first, and states only until there are enough
  ) k
  cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
  where s.state = any(states) and (statuses is null or s.status = any(statuses))
  order by k.due_at, k.id limit most
$$;

revoke all on function annals.cancel_read_event(), annals.events_over(text[], text[], int[], timestamptz, timestamptz, int) from public;
