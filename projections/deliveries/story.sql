-- A delivery as it is now, and why its lane rests.
select s.kind, s.trigger, s.schema_name, s.table_name, s.state, s.round, s.tries, s.status, s.due_at, s.created_at,
s.available_at, s.reason, s.lane, s.payload, s.definition, s.position, p.reason
from annals.delivery_states s left join annals.paused_lanes p on p.lane = s.lane where s.id = $1
