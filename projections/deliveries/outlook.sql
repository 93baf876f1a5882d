-- How far the fires of cron triggers are planned, each by the definition of a position:
-- how many are still to come after a moment, and which is the last.
select asked.trigger, coalesce(ahead.fires, 0), last.due_at
from unnest($1::text[], $2::bigint[]) as asked (trigger, position)
left join lateral (
  select count(*) as fires from annals.delivery_queue q
  where q.lane = 'cron:' || asked.trigger and q.available_at > $3 and q.first_due_at > $3
) ahead on true
left join lateral (
  select due_at from annals.deliveries d
  where d.kind = 'cron' and d.trigger = asked.trigger and d.position = asked.position
  order by due_at desc limit 1
) last on true
