-- Which capture functions are there, and which triggers call them? All of them, or those of some names. The triggers that
-- PostgreSQL makes for partitions belong to their parents' and do not count.
select p.proname, p.prosrc, p.prosecdef and p.proconfig is null as guarded,
  t.tgrelid, t.tgname, t.tgtype, t.tgoldtable, t.tgnewtable, t.tgenabled in ('O', 'A') and t.tgqual is null as enabled
from pg_catalog.pg_proc as p
left join (
  pg_catalog.pg_depend as d
  join pg_catalog.pg_trigger as t on t.oid = d.objid and t.tgparentid = 0
) on d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass
  and d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.refobjid = p.oid
where p.pronamespace = 'annals'::pg_catalog.regnamespace
  and p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype
  and pg_catalog.starts_with(p.proname, 'capture_')
  and ($1::pg_catalog.name[] is null or p.proname = any ($1))
order by p.proname, t.tgname
