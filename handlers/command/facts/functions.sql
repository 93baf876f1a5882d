-- What functions have these names? Aggregates, window functions and procedures left out.
--
-- The sub-selects hide from the planner how much is asked for, so that one plan, kept, serves one name and thousands:
-- planning anew each time takes several times as long as a small answer does.
select
    p.oid,
    n.nspname,
    p.proname,
    p.provolatile,
    p.provariadic <> 0 as variadic,
    p.pronargdefaults,
    p.proretset,
    p.prorettype,
    p.proargtypes::pg_catalog.oid[] as argument_types,
    p.proargnames as names,
    p.proargmodes::pg_catalog.text[] as modes,
    coalesce(d.description, '') as comment
from rows from (
    pg_catalog.unnest((select $1::pg_catalog.name[])),
    pg_catalog.unnest((select $2::pg_catalog.name[]))
) as want (schema, name)
join pg_catalog.pg_namespace as n on n.nspname = want.schema
join pg_catalog.pg_proc as p on p.pronamespace = n.oid and p.proname = want.name
left join pg_catalog.pg_description as d
    on d.objoid = p.oid and d.classoid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objsubid = 0
where p.prokind = 'f'
