-- A page of an audit, newest first. A null parameter asks for nothing.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.events
where ($1::text is null or type = $1)
  and ($2::text is null or $2 in (actor ->> 'role', actor ->> 'credential', actor ->> 'request_id'))
  and ($3::timestamptz is null or recorded_at >= $3)
  and ($4::timestamptz is null or recorded_at < $4)
  and ($5::bigint is null or position < $5)
  and ($6::bigint is null or position > $6)
order by position desc
limit $7
