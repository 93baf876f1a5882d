-- One event.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.events
where position = $1
