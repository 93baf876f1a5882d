-- The last event recorded at or before a time.
select position
from annals.events
where recorded_at <= $1
order by recorded_at desc, position desc
limit 1
