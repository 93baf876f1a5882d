-- What a capture costs the writer. A row change is captured in the writer's own transaction, so every microsecond here is his.
--
-- Capture functions run on whatever search_path the writer has: to set one for the call costs more than a small capture does.
-- So each name and operator in them, and in what they call, says that it is PostgreSQL's own.

-- Tells the ids of one moment apart.
create sequence annals.delivery_ids maxvalue 281474976710655 cycle; -- 48 bits

-- Ids of version 7, for all rows of a statement: their time, and something random. A strong random number for each row would
-- cost as much as to write it.
create function annals.delivery_ids_of(made_at timestamptz) returns text
language sql volatile as $$
  select pg_catalog.lpad(pg_catalog.to_hex((pg_catalog.date_part('epoch', made_at) operator(pg_catalog.*) 1000)::pg_catalog.int8), 12, '0')
    operator(pg_catalog.||) pg_catalog.to_hex((28672 operator(pg_catalog.+) pg_catalog.floor(pg_catalog.random() operator(pg_catalog.*) 4096))::pg_catalog.int4)
    operator(pg_catalog.||) pg_catalog.to_hex((32768 operator(pg_catalog.+) pg_catalog.floor(pg_catalog.random() operator(pg_catalog.*) 16384))::pg_catalog.int4)
$$;

-- The next of them. Inlined where it is used.
create function annals.delivery_id(ids text) returns uuid
language sql volatile as $$
  select (ids operator(pg_catalog.||) pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.nextval('annals.delivery_ids')), 12, '0'))::pg_catalog.uuid
$$;

create or replace function annals.delivery_id(made_at timestamptz) returns uuid
language sql volatile as $$
  select annals.delivery_id(annals.delivery_ids_of(made_at))
$$;

create or replace function annals.captures() returns boolean
language sql stable as $$
  select coalesce(pg_catalog.current_setting('annals.capture', true), 'on') operator(pg_catalog.<>) 'off'
$$;

create or replace function annals.capture_setting(name text, alias text) returns json
language plpgsql stable as $$
declare
  setting pg_catalog.text := pg_catalog.current_setting(name, true);
begin
  if coalesce(setting, '') operator(pg_catalog.=) '' then
    setting := pg_catalog.current_setting(alias, true);
  end if;
  if coalesce(setting, '') operator(pg_catalog.=) '' then
    return null;
  end if;
  begin
    return setting::pg_catalog.json;
  exception when invalid_text_representation then
    return pg_catalog.to_json(setting);
  end;
end
$$;

-- What the payloads of a transaction end with: whose it is, and of which trace. Most writers say neither.
create function annals.capture_context() returns text
language sql stable as $$
  select case
    when coalesce(pg_catalog.current_setting('annals.session', true), '') operator(pg_catalog.=) ''
      and coalesce(pg_catalog.current_setting('hasura.user', true), '') operator(pg_catalog.=) ''
      and coalesce(pg_catalog.current_setting('annals.trace', true), '') operator(pg_catalog.=) ''
      and coalesce(pg_catalog.current_setting('hasura.tracecontext', true), '') operator(pg_catalog.=) ''
    then '},"session_variables":null,"trace_context":null}'
    else '},"session_variables":'
      operator(pg_catalog.||) coalesce(annals.capture_setting('annals.session', 'hasura.user')::pg_catalog.text, 'null')
      operator(pg_catalog.||) ',"trace_context":'
      operator(pg_catalog.||) coalesce(annals.capture_setting('annals.trace', 'hasura.tracecontext')::pg_catalog.text, 'null')
      operator(pg_catalog.||) '}'
  end
$$;

create or replace function annals.capture_image(image json, columns text[]) returns json
language sql immutable as $$
  select coalesce(pg_catalog.json_object_agg(m.key, m.value), '{}')
  from pg_catalog.json_each(image) as m where m.key operator(pg_catalog.=) any (columns)
$$;

revoke all on function annals.delivery_ids_of(timestamptz), annals.delivery_id(text), annals.capture_context() from public;
