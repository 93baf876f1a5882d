-- Leases to a node ($4) what is due in lanes ($1), oldest first, for each as many as it has free slots ($2), for so many seconds
-- ($3). Of deliveries with the same ordering key only the first in the line is there to be had. A row whose record is gone comes
-- without it. Of a database that is ahead of the schema that the node knows ($5; 0: any) nothing is claimed: what lies there may be
-- written in a way that it would misread.
with due as (
  select q.row, w.seconds
  from unnest($1::text[], $2::int[], $3::float8[]) as w (lane, slots, seconds)
  cross join lateral (
    select q.ctid as row
    from annals.delivery_queue q
    where q.lane = w.lane and q.turn_at <= now() and q.available_at <= now()
      and (q.ordering_key is null or not exists (
        select from annals.delivery_queue e
        where e.lane = q.lane and e.ordering_key = q.ordering_key and e.place < q.place))
    order by q.turn_at, q.delivery_id
    limit w.slots
    for update skip locked
  ) q
  where $5 = 0 or exists (select from annals.schema_version where version <= $5)
), leased as (
  update annals.delivery_queue q
  set available_at = clock_timestamp() + make_interval(secs => due.seconds), lease = q.lease + 1, leased_by = $4
  from due where q.ctid = due.row
  returning q.delivery_id, q.first_due_at, q.lane, q.turn_at, q.lease, q.round, q.tries
)
select l.delivery_id, l.lane, l.turn_at, l.lease, l.round, l.tries,
  d.kind, d.trigger, d.schema_name, d.table_name, annals.payload_text(d.payload, d.operation, d.origin), d.definition,
  l.first_due_at, d.created_at, clock_timestamp()
from leased l
left join lateral (
  select * from annals.deliveries d where d.id = l.delivery_id and d.due_at = l.first_due_at limit 1
) d on true
order by l.first_due_at
