-- Begins a new round of a delivery, due now: it is moved from its turn ($5), if it has one.
with moved as (
  update annals.delivery_queue
  set available_at = clock_timestamp(), turn_at = clock_timestamp(), round = $4, tries = 0, leased_by = null
  where lane = $3 and turn_at = $5 and delivery_id = $1
  returning delivery_id
)
insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at, round)
select $1, $2, $3, now, now, $4 from clock_timestamp() as now where not exists (select from moved)
