-- Begins a new round of a delivery, due now.
insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, round)
values ($1, $2, $3, clock_timestamp(), $4)
on conflict (delivery_id) do update set available_at = excluded.available_at, turn_at = excluded.turn_at, round = excluded.round, tries = 0, leased_by = null
