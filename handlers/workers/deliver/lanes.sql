-- Which lanes ($1: one of them, or all) hold deliveries that are not leased, and in how many seconds the first of each is due. Lanes
-- that rest are left out, and all where the database is ahead of the schema that the node knows ($2; 0: any). The index is skipped through, lane by lane: what lies in them does not count.
with recursive lanes as (
  (select q.lane from annals.delivery_queue q order by q.lane, q.turn_at limit 1)
  union all
  select n.lane
  from lanes l cross join lateral (
    select q.lane from annals.delivery_queue q where q.lane > l.lane order by q.lane, q.turn_at limit 1
  ) n
)
select l.lane, extract(epoch from f.turn_at - clock_timestamp())::float8
from lanes l cross join lateral (
  select q.turn_at from annals.delivery_queue q
  where q.lane = l.lane and (q.leased_by is null or q.available_at <= now())
  order by q.turn_at limit 1
) f
where ($1 = '*' or l.lane = $1) and ($2 = 0 or exists (select from annals.schema_version where version <= $2))
  and not exists (select from annals.paused_lanes p where p.lane = l.lane)
