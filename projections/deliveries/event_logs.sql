-- A page of the events of an event trigger, newest first. Each kind has its order from the index.
select s.id, s.schema_name, s.table_name, s.trigger, s.payload, s.state, s.tries, s.created_at, s.available_at
from unnest('{event,manual}'::text[]) as of (kind)
cross join lateral (
  select * from annals.delivery_states d
  where d.kind = of.kind and d.trigger = $1
    and ($2 = 'all' or ($2 = 'pending') = (d.state in ('pending', 'retrying', 'leased')))
  order by d.due_at desc, d.id limit $3::bigint + $4::bigint
) s
order by s.due_at desc, s.id limit $3::bigint offset $4::bigint
