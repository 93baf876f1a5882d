-- Withdraws the fires of a cron trigger that are due after a moment and untouched.
with untouched as (
  delete from annals.delivery_queue
  where lane = 'cron:' || $1 and first_due_at > $2 and available_at = first_due_at and lease = 0 and tries = 0 and round = 1
  returning delivery_id, first_due_at
)
delete from annals.deliveries d using untouched u where d.id = u.delivery_id and d.due_at = u.first_due_at
