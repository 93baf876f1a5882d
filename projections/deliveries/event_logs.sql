-- A page of the events of an event trigger, newest first: each kind in the order of the index, and those that wait from the queue.
-- Keys are put in order first, and the rest is looked up for a page; offset 0 keeps it so.
with page as (
  select p.*
  from unnest('{event,manual}'::text[]) as of (kind)
  cross join lateral (
    select s.*
    from (
      select d.id, d.due_at from annals.deliveries d
      where d.kind = of.kind and d.trigger = $1
        and ($2 = 'all' or not exists (select from annals.queued(d.id, d.kind, d.trigger, d.due_at)))
      order by d.due_at desc, d.id desc limit $3::bigint + $4::bigint
    ) k
    cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
    where $2 <> 'pending'
  ) p
  union all
  (
    select s.*
    from (
      select q.delivery_id as id, q.first_due_at as due_at from annals.delivery_queue q
      where $2 = 'pending' and q.lane = 'event:' || $1
      order by q.first_due_at desc, q.delivery_id desc offset 0
    ) k
    cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
    where s.kind in ('event', 'manual')
    order by k.due_at desc, k.id desc limit $3::bigint + $4::bigint
  )
)
select id, schema_name, table_name, trigger, payload, state, tries, created_at, available_at
from page order by due_at desc, id desc limit $3::bigint offset $4::bigint
