-- Takes a queued delivery ($1; $2: its kind, $3: trigger, $4: when it was first due) for a decision about it, once no claim or outcome
-- is being written: wherever that has moved it, it is held.
select turn_at, round, leased_by is not null and available_at > clock_timestamp()
from annals.delivery_queue
where (delivery_id = $1 and turn_at <> first_due_at)
  or (lane = annals.lane_of($2, $3) and turn_at = $4 and delivery_id = $1)
for update
