-- Cancels what is queued and not being sent, as a filter finds it.
with cancelled as (
  delete from annals.delivery_queue q using annals.deliveries d
  where d.id = q.delivery_id and d.due_at = q.first_due_at
    and not (q.leased_by is not null and q.available_at > clock_timestamp())
    and ($1::text[] is null or d.kind = any($1)) and ($2 = '' or d.trigger = $2)
    and q.first_due_at >= coalesce($3::timestamptz, '-infinity') and q.first_due_at < coalesce($4::timestamptz, 'infinity')
    and ($5::uuid[] is null or d.id = any($5))
    and ($6::bigint = 0 or exists (
      select 1 from annals.delivery_log l
      where l.delivery_id = q.delivery_id and l.position = $6 and l.entry = 'redelivery' and l.round = q.round))
  returning q.delivery_id, q.round
)
insert into annals.delivery_log (delivery_id, entry, round, attempt, reason, position)
select delivery_id, 'cancelled', round, 0, $7, $8 from cancelled
