-- Removes the objects that are gone.
delete from annals.catalog c
using unnest($1::text[], $2::text[]) as gone (kind, key)
where c.kind = gone.kind and c.key = gone.key
