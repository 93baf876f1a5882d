-- What comments do these relations and their columns have? The relation's own has column number 0.
--
-- The sub-selects hide from the planner how much is asked for, so that one plan, kept, serves one name and thousands:
-- planning anew each time takes several times as long as a small answer does.
with asked as (
    select c.oid
    from rows from (
        pg_catalog.unnest((select $1::pg_catalog.name[])),
        pg_catalog.unnest((select $2::pg_catalog.name[]))
    ) as want (schema, name)
    join pg_catalog.pg_namespace as n on n.nspname = want.schema
    join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = want.name
    union all
    select pg_catalog.unnest((select $3::pg_catalog.oid[]))
)
select d.objoid, d.objsubid, d.description
from asked
join pg_catalog.pg_description as d
    on d.objoid = asked.oid and d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
