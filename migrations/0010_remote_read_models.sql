-- Remote schemas and remote relationships, as scripts that were written for v1.3 read them in its schema hdb_catalog.

do $$
begin
  if to_regnamespace('hdb_catalog') is null or not has_schema_privilege('hdb_catalog', 'create') then
    return; -- the views of 0006 are left out for the same reason
  end if;

  if to_regclass('hdb_catalog.remote_schemas') is null then
    create view hdb_catalog.remote_schemas as
      select c.position as id, c.definition->>'name' as name, c.definition->'definition' as definition, c.definition->>'comment' as comment
      from annals.catalog as c where c.kind = 'remote_schema';
  end if;

  if to_regclass('hdb_catalog.hdb_remote_relationship') is null then
    create view hdb_catalog.hdb_remote_relationship as
      select c.definition->>'name' as remote_relationship_name, c.definition->'table'->>'schema' as table_schema,
        c.definition->'table'->>'name' as table_name, c.definition
      from annals.catalog as c where c.kind = 'remote_relationship';
  end if;
end
$$;
