-- What are these tables now?
select n.nspname, c.relname, c.oid, c.relkind::pg_catalog.text, c.relispartition, c.relhassubclass
from rows from (
  pg_catalog.unnest($1::pg_catalog.name[]),
  pg_catalog.unnest($2::pg_catalog.name[])
) as want (schema, name)
join pg_catalog.pg_namespace as n on n.nspname = want.schema
join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = want.name
