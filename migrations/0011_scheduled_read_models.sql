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
    execute format('create trigger annals_cancel instead of delete on hdb_catalog.%I for each row execute function annals.cancel_read_event()', name);
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
