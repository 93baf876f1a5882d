-- What columns do these relations have? Dropped ones too, without a type: together they are as many as relnatts says.
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
select
    a.attrelid,
    a.attnum,
    a.attname,
    a.atttypid,
    -- Null for most: the type's own name will do.
    case when a.atttypmod >= 0 then pg_catalog.format_type(a.atttypid, a.atttypmod) end as sql_type,
    a.attnotnull,
    a.atthasdef,
    a.attidentity,
    a.attgenerated
from asked
join pg_catalog.pg_attribute as a on a.attrelid = asked.oid
where a.attnum > 0
