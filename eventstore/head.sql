-- Where the log ends.
select position, hash from annals.log_head where only_row
