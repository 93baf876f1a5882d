-- Of the events after a position what a fold needs, in order (every column more is felt over a million of them); 0 is no limit.
select position, type, schema_version, changes
from annals.events
where position > $1
order by position
limit nullif($2::bigint, 0)
