-- A page of deliveries as a filter finds them, the latest first.
select id, kind, trigger, schema_name, table_name, state, round, tries, status, due_at, created_at, available_at, reason
from annals.delivery_states
where kind <> 'action'
  and ($1 = '' or kind = $1) and ($2 = '' or trigger = $2) and ($3::text[] is null or state = any($3))
  and due_at >= coalesce($4::timestamptz, '-infinity') and due_at < coalesce($5::timestamptz, 'infinity')
  and ($6::timestamptz is null or (due_at, id) < ($6, $7::uuid))
order by due_at desc, id desc limit $8
