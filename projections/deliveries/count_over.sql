-- How many events a filter of redeliver_events finds.
select count(*) from annals.delivery_states
where kind in ('event', 'manual') and trigger = any($1) and state = any($2)
  and ($3::int[] is null or status = any($3))
  and due_at >= coalesce($4::timestamptz, '-infinity') and due_at < coalesce($5::timestamptz, 'infinity')
