-- Plans fires of a cron trigger. One that is planned already, or over, stays as it is.
with planned as (
  insert into annals.deliveries (id, kind, trigger, payload, due_at, position)
  select fire.id, 'cron', $1, $2::json, fire.due_at, $3
  from unnest($4::uuid[], $5::timestamptz[]) as fire (id, due_at)
  on conflict do nothing
  returning id, due_at
)
insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at)
select id, due_at, 'cron:' || $1, due_at, due_at from planned
on conflict do nothing
