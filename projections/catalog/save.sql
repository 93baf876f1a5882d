-- Puts the definitions that changed; one row of arguments an object.
insert into annals.catalog (kind, key, definition, position)
select kind, key, definition::json, position
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as changed (kind, key, definition, position)
on conflict (kind, key) do update set definition = excluded.definition, position = excluded.position
