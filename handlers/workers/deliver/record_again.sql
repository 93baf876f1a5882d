-- Writes down what became of leased deliveries that come again after some seconds ($16): a row of the history for each that was
-- tried, and the row of the queue. What was sent and said stands among texts ($8), each once. A lease that is not held any more changes
-- nothing. Returns which were held.
with again as (
  update annals.delivery_queue q
  set available_at = clock_timestamp() + make_interval(secs => o.delay),
    turn_at = clock_timestamp() + make_interval(secs => o.delay), leased_by = null, tries = q.tries + (o.outcome is not null)::int
  from unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::int[], $6::int[], $7::int[], $9::text[], $10::float8[], $11::float8[], $13::uuid[],
      $14::text[], $15::timestamptz[], $16::float8[])
    as o (delivery_id, lease, round, outcome, status, request, response, reason, began, ended, id, lane, turn, delay)
  where q.lane = o.lane and q.turn_at = o.turn and q.delivery_id = o.delivery_id and q.lease = o.lease and q.round = o.round and q.leased_by = $12
  returning o.*, q.tries, q.available_at
), written as (
  insert into annals.delivery_log (id, delivery_id, entry, outcome, round, attempt, status, request, response, reason, node,
    next_due_at, started_at, recorded_at)
  select o.id, o.delivery_id, 'attempt', o.outcome, o.round, o.tries, o.status, ($8::json[])[o.request], ($8::json[])[o.response], o.reason, $12,
    o.available_at, clock_timestamp() - make_interval(secs => o.began), clock_timestamp() - make_interval(secs => o.ended)
  from again o
  where o.outcome is not null
)
select delivery_id from again
