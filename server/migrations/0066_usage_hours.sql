-- The running day is stored too, up to an hour that is over, so that a sum reads the requests of two hours at most.

alter table usage_rollups add column until timestamptz;
comment on column usage_rollups.until is 'The sums have what ended before it. Null: the whole day.';
