-- Tells what became of a call ($1) of an action ($2), to the session ($3) that started it, or to the admin (null).
select id, to_json(created_at), errors, response
from annals.action_log
where id = $1::uuid and action = $2::text and ($3::jsonb is null or session = $3::jsonb)
