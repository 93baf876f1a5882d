-- Ends the lanes of event triggers ($1) that are gone: what they still had to send is cancelled, by the command at $2.
with ended as (
  insert into annals.capture_ends (trigger, ended_at)
  select e.trigger, pg_catalog.clock_timestamp() from pg_catalog.unnest($1::pg_catalog.text[]) as e (trigger)
  on conflict (trigger) do update set ended_at = excluded.ended_at
), cancelled as (
  delete from annals.delivery_queue as q
  using pg_catalog.unnest($1::pg_catalog.text[]) as e (trigger)
  where q.lane = 'event:' || e.trigger
  returning q.delivery_id, q.round, e.trigger
)
insert into annals.delivery_log (delivery_id, entry, round, attempt, reason, position)
select c.delivery_id, 'cancelled', c.round, 0, pg_catalog.format('the event trigger %s was removed', c.trigger), $2
from cancelled as c
