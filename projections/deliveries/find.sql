-- A page of deliveries in whatever state, the latest first: from the index, trigger by trigger. Keys are put in order first, and
-- states are looked up for one page; offset 0 keeps it so.
with recursive of as (
  (select d.kind, d.trigger from annals.deliveries d order by d.kind, d.trigger limit 1)
  union all
  select n.kind, n.trigger
  from of cross join lateral (
    select d.kind, d.trigger from annals.deliveries d
    where (d.kind, d.trigger) > (of.kind, of.trigger) order by d.kind, d.trigger limit 1
  ) n
), keys as (
  select k.id, k.due_at
  from of cross join lateral (
    select d.id, d.due_at from annals.deliveries d
    where d.kind = of.kind and d.trigger = of.trigger
      and d.due_at >= coalesce($3::timestamptz, '-infinity') and d.due_at < coalesce($4::timestamptz, 'infinity')
      and ($5::timestamptz is null or (d.due_at, d.id) < ($5, $6::uuid))
    order by d.due_at desc, d.id desc limit $7
  ) k
  where of.kind <> 'action' and ($1 = '' or of.kind = $1) and ($2 = '' or of.trigger = $2)
  order by k.due_at desc, k.id desc limit $7
)
select s.id, s.kind, s.trigger, s.schema_name, s.table_name, s.state, s.round, s.tries, s.status, s.due_at, s.created_at,
  s.available_at, s.reason
from keys k
cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
order by k.due_at desc, k.id desc
