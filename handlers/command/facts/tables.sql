-- Which of the relations asked for, by name or by oid, are there, and what may be done to them?
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
    c.oid,
    n.nspname,
    c.relname,
    c.relkind,
    -- How many columns and keys there are, to check the other statements against, which may see a later moment.
    c.relnatts,
    (
        select pg_catalog.count(*)
        from pg_catalog.pg_constraint as k
        where k.conrelid = c.oid and k.contype in ('p', 'u', 'f')
    ) as keys,
    -- As pg_relation_is_updatable says it: 8 insert, 4 update, 16 delete.
    -- Only views and foreign tables are looked into: that takes ACCESS SHARE on them, and on nothing else.
    -- A foreign-data wrapper without a handler can do nothing, and asking it is an error.
    case
        when c.relkind in ('r', 'p') then 28
        when c.relkind = 'v' or exists (
            select
            from pg_catalog.pg_foreign_table as f
            join pg_catalog.pg_foreign_server as s on s.oid = f.ftserver
            join pg_catalog.pg_foreign_data_wrapper as w on w.oid = s.srvfdw
            where f.ftrelid = c.oid and w.fdwhandler <> 0
        ) then pg_catalog.pg_relation_is_updatable(c.oid, true)
        else 0
    end as writable
from asked
join pg_catalog.pg_class as c on c.oid = asked.oid
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f')
