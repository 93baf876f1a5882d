-- The same for the events that touched one object.
select position, id, type, args, changes, actor, comment, batch, batch_index, schema_version,
       recorded_at, prev_hash, hash
from annals.event_objects
join annals.events using (position)
where event_objects.kind = $8 and event_objects.key = $9
  and ($1::text is null or type = $1)
  and ($2::text is null or $2 in (actor ->> 'role', actor ->> 'credential', actor ->> 'request_id'))
  and ($3::timestamptz is null or position > annals.position_before($3))
  and ($4::timestamptz is null or position <= annals.position_before($4))
  and ($5::bigint is null or position < $5)
  and ($6::bigint is null or position > $6)
order by position desc
limit $7
