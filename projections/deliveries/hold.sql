-- Takes a queued delivery for a decision about it, once no claim or outcome is being written.
select round, leased_by is not null and available_at > clock_timestamp()
from annals.delivery_queue where delivery_id = $1 for update
