-- Writes a call ($1: id, $2: action, $3: input, $4: session, $5: headers) with the delivery that has it made.
with started as (
  insert into annals.action_log (id, action, input, session, headers)
  values ($1::uuid, $2::text, $3::json, $4::jsonb, $5::json)
  returning id, action, clock_timestamp() as due_at
), delivered as (
  insert into annals.deliveries (id, kind, trigger, due_at) select id, 'action', action, due_at from started
  returning id, trigger, due_at
)
insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at)
select id, due_at, 'action:' || trigger, due_at, due_at from delivered
