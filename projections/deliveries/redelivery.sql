-- What has become of the events that one command redelivered, looked for from then on.
-- What was redelivered has another turn than its first.
select state, count(*)
from (
  select case
      when q.delivery_id is null then coalesce(last.outcome, last.entry)
      when q.leased_by is not null and q.available_at > clock_timestamp() then 'leased'
      when q.tries > 0 then 'retrying'
      else 'pending'
    end as state
  from annals.delivery_log r
  left join annals.delivery_queue q on q.delivery_id = r.delivery_id and q.turn_at <> q.first_due_at
  left join lateral (
    select l.entry, l.outcome from annals.delivery_log l
    where l.delivery_id = r.delivery_id and l.recorded_at >= r.recorded_at
    order by l.recorded_at desc limit 1
  ) last on true
  where r.position = $1 and r.entry = 'redelivery'
) asked
group by state order by state
