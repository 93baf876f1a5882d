-- A page of the attempts at deliveries of some kinds, newest first. Ids of attempts sort by their time.
select l.id, l.delivery_id, d.trigger, l.status,
  annals.delivery_request(l.request, l.attempt, d.id, d.created_at, d.trigger, d.schema_name, d.table_name,
    annals.payload_of(d.payload, d.operation, d.origin)),
  l.response, l.recorded_at
from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id
where l.entry = 'attempt' and d.kind = any($1) and ($2 = '' or d.trigger = $2) and ($3::uuid is null or l.delivery_id = $3)
order by l.id desc limit $4 offset $5
