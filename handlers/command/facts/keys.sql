-- What keys do these relations have, and what foreign keys point to them? One row for each column of a key.
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
),
-- pg_constraint has no index on confrelid; pg_depend knows the way back without reading every constraint there is.
involved (oid) as (
    select k.oid
    from asked
    join pg_catalog.pg_constraint as k on k.conrelid = asked.oid
    union
    select d.objid
    from asked
    join pg_catalog.pg_depend as d
        on d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        and d.refobjid = asked.oid
        and d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass
)
select
    k.oid,
    k.contype,
    k.conname,
    k.conrelid,
    fn.nspname as from_schema,
    f.relname as from_name,
    k.confrelid,
    tn.nspname as to_schema,
    t.relname as to_name,
    -- A foreign key to a partitioned table has a shadow for each partition, on the same table: no key of its own.
    -- (EXISTS would read all of pg_constraint into a hash table here.)
    coalesce(
        (select parent.conrelid from pg_catalog.pg_constraint as parent where parent.oid = k.conparentid) = k.conrelid,
        false
    ) as shadow,
    part.place,
    -- Looked up one by one: joined, the planner once hashed all columns of the table for each row.
    (select a.attname from pg_catalog.pg_attribute as a where a.attrelid = k.conrelid and a.attnum = part.near) as near,
    (select a.attname from pg_catalog.pg_attribute as a where a.attrelid = k.confrelid and a.attnum = part.far) as far
from involved
join pg_catalog.pg_constraint as k on k.oid = involved.oid
cross join lateral rows from (
    pg_catalog.unnest(k.conkey),
    pg_catalog.unnest(k.confkey)
) with ordinality as part (near, far, place)
join pg_catalog.pg_class as f on f.oid = k.conrelid
join pg_catalog.pg_namespace as fn on fn.oid = f.relnamespace
left join pg_catalog.pg_class as t on t.oid = k.confrelid
left join pg_catalog.pg_namespace as tn on tn.oid = t.relnamespace
where k.contype in ('p', 'u', 'f')
