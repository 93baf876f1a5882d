-- A page of the fires of a cron trigger, or of the one-off events ($1, $2), by time. Those that wait are found in the queue, in
-- their lane ($4), and those that did not go well in the log; all others come from the index. Keys come in order, and
-- states are looked up until the page is full; offset 0 keeps it so.
with few as (
  select q.delivery_id as id, q.first_due_at as due_at from annals.delivery_queue q
  where $3::text[] && '{pending,retrying,leased}' and q.lane = $4
  union
  select d.id, d.due_at from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id
  where $3::text[] && '{failed,dropped,cancelled}' and (l.outcome = 'failed' or l.entry <> 'attempt')
    and d.kind = $1 and d.trigger = $2
), page as (
  (
    select k.id, k.due_at
    from (
      select id, due_at from few
      where $3::text[] <@ '{pending,retrying,leased,failed,dropped,cancelled}'
      order by due_at, id offset 0
    ) k
    where (select s.state from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at) = any($3)
    order by k.due_at, k.id limit $5::bigint + $6::bigint
  )
  union all
  (
    select d.id, d.due_at from annals.deliveries d
    where not coalesce($3::text[] <@ '{pending,retrying,leased,failed,dropped,cancelled}', false)
      and d.kind = $1 and d.trigger = $2
      and ($3 is null or (select s.state from annals.delivery_states s where s.id = d.id and s.due_at = d.due_at) = any($3))
    order by d.due_at, d.id limit $5::bigint + $6::bigint
  )
)
select s.id, s.trigger, s.payload, s.definition, s.due_at, s.created_at, s.state, s.tries, s.available_at
from (select id, due_at from page order by due_at, id limit $5::bigint offset $6::bigint) k
cross join lateral (select * from annals.delivery_states s where s.id = k.id and s.due_at = k.due_at offset 0) s
order by k.due_at, k.id
