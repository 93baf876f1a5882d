-- The calls of asynchronous actions: what they were given, and what came of them.
--
-- A call is a delivery too, of the same id and the kind action: that says when its handler is to be called, and remembers the
-- tries. What is here is what the client asks for afterwards.

create table annals.action_log (
  id           uuid primary key,
  action       text not null,
  input        json not null,
  session      jsonb not null,      -- the variables of who asked, the role among them: nobody else is answered
  headers      json not null,       -- of the client, as far as the handler gets them; emptied once it answered
  status       text not null default 'created' check (status in ('created', 'processing', 'completed', 'error')),
  response     json,                -- of the handler, held against the action's type
  errors       json,                -- code, path, error and internal
  created_at   timestamptz not null default now(),
  responded_at timestamptz
);

create index action_log_action on annals.action_log (action, created_at);

-- The table of v1.3 by its name, where nothing else has it and the schema may be written.
do $$
begin
  if to_regnamespace('hdb_catalog') is null or not has_schema_privilege('hdb_catalog', 'create')
    or to_regclass('hdb_catalog.hdb_action_log') is not null then
    return;
  end if;
  create view hdb_catalog.hdb_action_log as
    select id, action as action_name, input::jsonb as input_payload, headers::jsonb as request_headers, session as session_variables,
      response::jsonb as response_payload, errors::jsonb as errors, created_at, responded_at as response_received_at, status
    from annals.action_log;
end
$$;
