-- Cancels all that is queued in a lane that is no more.
with cancelled as (
  delete from annals.delivery_queue where lane = $1 returning delivery_id, round
), awake as (
  delete from annals.paused_lanes where lane = $1
)
insert into annals.delivery_log (delivery_id, entry, round, attempt, reason, position)
select delivery_id, 'cancelled', round, 0, $2, $3 from cancelled
