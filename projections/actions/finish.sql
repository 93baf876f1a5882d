-- Writes what came of a call ($1): its response ($3) or its errors ($4), as long as a lease ($2) is held and the call is not over.
update annals.action_log as a
set status = case when $4::json is null then 'completed' else 'error' end,
  response = $3::json, errors = $4::json, responded_at = clock_timestamp(), headers = '{}'
where a.id = $1::uuid and a.status = 'processing'
  and exists (
    select from annals.deliveries as d cross join lateral annals.queued(d.id, d.kind, d.trigger, d.due_at) as q
    where d.id = a.id and q.lease = $2::int)
