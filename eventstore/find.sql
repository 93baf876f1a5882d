-- A page of an audit, newest first. A null parameter asks for nothing. Times follow positions, so a time is turned into a
-- position first: then whatever index is used can end there.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.events
where ($1::text is null or type = $1)
  and ($2::text is null or $2 in (actor ->> 'role', actor ->> 'credential', actor ->> 'request_id'))
  and ($3::timestamptz is null or position > annals.position_before($3))
  and ($4::timestamptz is null or position <= annals.position_before($4))
  and ($5::bigint is null or position < $5)
  and ($6::bigint is null or position > $6)
order by position desc
limit $7
