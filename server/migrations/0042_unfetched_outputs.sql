-- Since when the outputs of a finished job cannot be fetched, so that its request ends in time.

alter table attempts add column unfetched_at timestamptz;
comment on column attempts.unfetched_at is 'When the first try began that could not fetch an output of the job; null: none failed.';
