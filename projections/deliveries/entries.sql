-- The history of a delivery, in order.
select id, entry, outcome, round, attempt, status, request, response, reason, node, next_due_at, position, started_at, recorded_at
from annals.delivery_log where delivery_id = $1 order by recorded_at, id
