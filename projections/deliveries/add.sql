-- Adds a delivery that is due at a moment, or at once.
with added as (
  insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, definition, due_at, position)
  values ($1, $2, $3, $4, $5, $6, $7, coalesce($8, clock_timestamp()), $9)
  returning id, due_at
)
insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at)
select id, due_at, $10, due_at, due_at from added
