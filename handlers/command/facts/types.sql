-- What are these types? With them come the elements of arrays and the bases of domains.
--
-- The sub-selects hide from the planner how much is asked for, so that one plan, kept, serves one name and thousands:
-- planning anew each time takes several times as long as a small answer does.
with asked (oid) as (
    select pg_catalog.unnest((select $1::pg_catalog.oid[]))
),
wanted (oid) as (
    select asked.oid
    from asked
    union
    select t.typelem
    from asked
    join pg_catalog.pg_type as t on t.oid = asked.oid
    union
    select t.typbasetype
    from asked
    join pg_catalog.pg_type as t on t.oid = asked.oid
)
select
    t.oid,
    n.nspname,
    t.typname,
    t.typtype,
    -- An array, as format_type tells it from the fixed-length types that can be subscripted.
    case when t.typlen = -1 and t.typstorage <> 'p' then t.typelem else 0 end as element,
    t.typbasetype,
    t.typnotnull,
    t.typdefault is not null as has_default,
    pg_catalog.format_type(t.oid, null) as sql_type,
    -- format_type leaves the schema out or not as search_path has it; the shape must not depend on that.
    case when pg_catalog.pg_type_is_visible(t.oid) then pg_catalog.quote_ident(n.nspname) || '.' else '' end as prefix,
    coalesce(rn.nspname, '') as row_schema,
    coalesce(r.relname, '') as row_name
from pg_catalog.pg_type as t
join pg_catalog.pg_namespace as n on n.oid = t.typnamespace
left join pg_catalog.pg_class as r on r.oid = t.typrelid and r.relkind in ('r', 'p', 'v', 'm', 'f')
left join pg_catalog.pg_namespace as rn on rn.oid = r.relnamespace
where t.oid = any (array(select wanted.oid from wanted))
