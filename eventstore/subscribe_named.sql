-- The next events of a named reader. The lock makes one reader of those with the same name work and the others find nothing:
-- they look again later, and one of them takes over when the first is gone. A subselect, not a join: so the events come off
-- the primary key in order, from the first one wanted.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.events
where position > (select c.position from annals.checkpoints c where c.name = $1 for update skip locked)
order by position
limit $2
