-- Opens a call ($1) to be made, and returns it with its status, which tells whether it is over already.
update annals.action_log as a
set status = case when a.status = 'created' then 'processing' else a.status end
where a.id = $1::uuid
returning a.action, a.input, a.session, a.headers, a.status
