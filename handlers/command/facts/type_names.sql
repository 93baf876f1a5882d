-- What names do scalar types have? Base types, domains, enums and ranges, and arrays of them, but not of rows.
select distinct t.typname
from pg_catalog.pg_type as t
left join pg_catalog.pg_type as e on e.oid = t.typelem
where t.typtype in ('b', 'd', 'e', 'r', 'm') and coalesce(e.typtype not in ('c', 'p'), true)
