-- A page of the fires of a cron trigger, or of the one-off events, by time; and how many there are in all.
select id, trigger, payload, definition, due_at, created_at, state, tries, available_at, count(*) over () as total
from annals.delivery_states
where kind = $1 and ($2 = '' or trigger = $2)
  and ($3::text[] is null or state = any($3))
order by due_at, id limit $4 offset $5
