-- Writes down what became of leased deliveries that are over: a row of the history each, for which the row of the queue goes. What was
-- sent and said stands among texts ($8), each once. A lease that is not held any more changes nothing. Returns which were held.
with over as (
  delete from annals.delivery_queue q
  using unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::int[], $6::int[], $7::int[], $9::text[], $10::float8[], $11::float8[], $13::uuid[],
      $14::text[], $15::timestamptz[])
    as o (delivery_id, lease, round, outcome, status, request, response, reason, began, ended, id, lane, turn)
  where q.lane = o.lane and q.turn_at = o.turn and q.delivery_id = o.delivery_id and q.lease = o.lease and q.round = o.round and q.leased_by = $12
  returning o.*, q.tries
)
insert into annals.delivery_log (id, delivery_id, entry, outcome, round, attempt, status, request, response, reason, node, started_at, recorded_at)
select o.id, o.delivery_id, case when o.outcome is null then 'dropped' else 'attempt' end, o.outcome, o.round,
  case when o.outcome is null then 0 else o.tries + 1 end, o.status, ($8::json[])[o.request], ($8::json[])[o.response], o.reason, $12,
  clock_timestamp() - make_interval(secs => o.began), clock_timestamp() - make_interval(secs => o.ended)
from over o
returning delivery_id
