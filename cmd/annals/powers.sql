-- Whether this user may read the files, or run the programs, of the database's machine.
select rolsuper
    or pg_has_role(oid, 'pg_read_server_files', 'member')
    or pg_has_role(oid, 'pg_write_server_files', 'member')
    or pg_has_role(oid, 'pg_execute_server_program', 'member')
from pg_roles
where rolname = current_user
