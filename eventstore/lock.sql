-- Where the log ends, and there it stays until the transaction does.
select position, hash from annals.log_head where only_row for update
