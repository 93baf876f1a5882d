-- How many queued deliveries a filter of cancel_events finds, and how many of them are being sent.
select count(*), count(*) filter (where q.leased_by is not null and q.available_at > clock_timestamp())
from annals.delivery_queue q join annals.deliveries d on d.id = q.delivery_id and d.due_at = q.first_due_at
where ($1::text[] is null or d.kind = any($1)) and ($2 = '' or d.trigger = $2)
  and q.first_due_at >= coalesce($3::timestamptz, '-infinity') and q.first_due_at < coalesce($4::timestamptz, 'infinity')
  and ($5::uuid[] is null or d.id = any($5))
  and ($6::bigint = 0 or exists (
    select 1 from annals.delivery_log l
    where l.delivery_id = q.delivery_id and l.position = $6 and l.entry = 'redelivery' and l.round = q.round))
