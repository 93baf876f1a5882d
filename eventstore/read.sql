-- The events after a position, in order; 0 is no limit.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.events
where position > $1
order by position
limit nullif($2::bigint, 0)
