-- A page of deliveries in some states ($8), the latest first. Those that wait are found in the queue, and those that did not go
-- well in the log, where they are few; all others come from the index, trigger by trigger. Keys come in order, and states are looked
-- up until the page is full; offset 0 keeps it so.
with recursive of as (
  (select d.kind, d.trigger from annals.deliveries d order by d.kind, d.trigger limit 1)
  union all
  select n.kind, n.trigger
  from of cross join lateral (
    select d.kind, d.trigger from annals.deliveries d
    where (d.kind, d.trigger) > (of.kind, of.trigger) order by d.kind, d.trigger limit 1
  ) n
), few as (
  select d.id, d.due_at, d.kind, d.trigger
  from annals.delivery_queue q join annals.deliveries d on d.id = q.delivery_id and d.due_at = q.first_due_at
  where $8::text[] && '{pending,retrying,leased}' and ($2 = '' or q.lane in ('event:' || $2, 'cron:' || $2))
  union
  select d.id, d.due_at, d.kind, d.trigger
  from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id
  where $8::text[] && '{failed,dropped,cancelled}' and (l.outcome = 'failed' or l.entry <> 'attempt')
), page as (
  (
    select s.*
    from (
      select id, due_at from few
      where $8::text[] <@ '{pending,retrying,leased,failed,dropped,cancelled}'
        and kind <> 'action' and ($1 = '' or kind = $1) and ($2 = '' or trigger = $2)
        and due_at >= coalesce($3::timestamptz, '-infinity') and due_at < coalesce($4::timestamptz, 'infinity')
        and ($5::timestamptz is null or (due_at, id) < ($5, $6::uuid))
      order by due_at desc, id desc offset 0
    ) k
    cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
    where s.state = any($8)
    order by k.due_at desc, k.id desc limit $7
  )
  union all
  select s.*
  from of
  cross join lateral (
    select d.id, d.due_at from annals.deliveries d
    where d.kind = of.kind and d.trigger = of.trigger
      and d.due_at >= coalesce($3::timestamptz, '-infinity') and d.due_at < coalesce($4::timestamptz, 'infinity')
      and ($5::timestamptz is null or (d.due_at, d.id) < ($5, $6::uuid))
      and (select s.state from annals.delivery_states s where s.id = d.id and s.due_at = d.due_at) = any($8)
    order by d.due_at desc, d.id desc limit $7
  ) k
  cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
  where not $8::text[] <@ '{pending,retrying,leased,failed,dropped,cancelled}'
    and of.kind <> 'action' and ($1 = '' or of.kind = $1) and ($2 = '' or of.trigger = $2)
)
select id, kind, trigger, schema_name, table_name, state, round, tries, status, due_at, created_at, available_at, reason
from page order by due_at desc, id desc limit $7
