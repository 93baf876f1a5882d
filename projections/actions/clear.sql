-- Forgets all calls of an action ($1).
delete from annals.action_log where action = $1
