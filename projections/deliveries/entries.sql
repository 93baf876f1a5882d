-- The history of a delivery, in order.
select l.id, l.entry, l.outcome, l.round, l.attempt, l.status,
  annals.delivery_request(l.request, l.attempt, d.id, d.created_at, d.trigger, d.schema_name, d.table_name,
    annals.payload_of(d.payload, d.operation, d.origin)),
  l.response, l.reason, l.node, l.next_due_at, l.position, l.started_at, l.recorded_at
from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id
where l.delivery_id = $1 order by l.recorded_at, l.id
