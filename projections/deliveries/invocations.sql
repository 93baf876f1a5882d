-- A page of the attempts at deliveries of some kinds, newest first; and how many there are in all.
select l.id, l.delivery_id, d.trigger, l.status, l.request, l.response, coalesce(l.started_at, l.recorded_at) as created_at, count(*) over () as total
from annals.deliveries d join annals.delivery_log l on l.delivery_id = d.id and l.entry = 'attempt'
where d.kind = any($1) and ($2 = '' or d.trigger = $2) and ($3::uuid is null or d.id = $3)
order by l.recorded_at desc, l.id limit $4 offset $5
