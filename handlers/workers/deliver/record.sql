-- Writes down what became of leased deliveries: a row of the history each, and the row of the queue, which goes, or comes again
-- after some seconds. A lease that is not held any more changes nothing. Returns which were held.
with o as (
  select * from unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[],
    $10::float8[], $11::float8[], $12::float8[], $14::uuid[])
    as o (delivery_id, lease, round, entry, outcome, status, request, response, reason, delay, began, ended, id)
), over as (
  delete from annals.delivery_queue q using o
  where q.delivery_id = o.delivery_id and q.lease = o.lease and q.round = o.round and q.leased_by = $13 and o.delay is null
  returning o.*, q.tries, null::timestamptz as next_due_at
), again as (
  update annals.delivery_queue q
  set available_at = clock_timestamp() + make_interval(secs => o.delay), leased_by = null, tries = q.tries + (o.entry = 'attempt')::int
  from o
  where q.delivery_id = o.delivery_id and q.lease = o.lease and q.round = o.round and q.leased_by = $13 and o.delay is not null
  returning o.*, q.tries - (o.entry = 'attempt')::int as tries, q.available_at as next_due_at
), held as (
  select * from over union all select * from again
), written as (
  insert into annals.delivery_log (id, delivery_id, entry, outcome, round, attempt, status, request, response, reason, node,
    next_due_at, started_at, recorded_at)
  select h.id, h.delivery_id, h.entry, h.outcome, h.round, case when h.entry = 'attempt' then h.tries + 1 else 0 end,
    h.status, h.request::json, h.response::json, h.reason, $13,
    h.next_due_at, clock_timestamp() - make_interval(secs => h.began), clock_timestamp() - make_interval(secs => h.ended)
  from held h
  where h.entry <> ''
)
select delivery_id::text from held
