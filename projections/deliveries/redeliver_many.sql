-- Begins a new round of the events that a filter finds ($1 to $5), the oldest first: of at most $6 that are looked for the first
-- $7, $8 seconds apart. Returns how many were found and how many begin.
with found as materialized (
  select * from annals.events_over($1, $2, $3, $4, $5, $6)
), chosen as (
  select id, due_at, 'event:' || trigger as lane, round, row_number() over (order by due_at, id) - 1 as place,
    clock_timestamp() + (row_number() over (order by due_at, id) - 1) * make_interval(secs => $8) as turn_at
  from found order by due_at, id limit $7
), queued as (
  insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at, round)
  select id, due_at, lane, turn_at, turn_at, round + 1 from chosen order by place
  on conflict do nothing
  returning delivery_id, round, available_at
), noted as (
  insert into annals.delivery_log (delivery_id, entry, round, attempt, next_due_at, position)
  select delivery_id, 'redelivery', round, 0, available_at, $9 from queued
  returning delivery_id
)
select (select count(*) from found), (select count(*) from noted)
