-- A failure of last week is not one of today: an upstream's newest error has its time.

alter table upstreams add column last_error_at timestamptz
  check (last_error_at is null or last_error is not null);
comment on column upstreams.last_error_at is 'When last_error was noted; null: never, or before this was kept.';
