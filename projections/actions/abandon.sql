-- Ends the calls of an action ($1) that are not over, with errors ($2).
update annals.action_log set status = 'error', errors = $2::json, responded_at = clock_timestamp(), headers = '{}'
where action = $1 and status in ('created', 'processing')
