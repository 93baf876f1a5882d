-- Everything from a position on, in order, as it is stored.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.events
where position >= $1
order by position
