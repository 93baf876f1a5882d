-- Begins a new round of the events that a filter finds, the oldest first, so many seconds apart.
with chosen as materialized (
  select id, due_at, lane, round, row_number() over (order by due_at, id) - 1 as place
  from (
    select id, due_at, 'event:' || trigger as lane, round from annals.delivery_states
    where kind in ('event', 'manual') and trigger = any($1) and state = any($2)
      and ($3::int[] is null or status = any($3))
      and due_at >= coalesce($4::timestamptz, '-infinity') and due_at < coalesce($5::timestamptz, 'infinity')
    order by due_at, id limit $6
  ) oldest
), queued as (
  insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, round)
  select id, due_at, lane, clock_timestamp() + place * make_interval(secs => $7), round + 1 from chosen order by place
  on conflict do nothing
  returning delivery_id, round, available_at
)
insert into annals.delivery_log (delivery_id, entry, round, attempt, next_due_at, position)
select delivery_id, 'redelivery', round, 0, available_at, $8 from queued
