-- What takes room goes when its time is over: a request's payloads, and the bytes of uploaded files.

alter table requests add column cleared_at timestamptz,
  add constraint cleared_is_over check (cleared_at is null or (completed_at is not null and wake_at is null));
-- Only what nothing more is due of: one whose outputs cannot be deleted does not hold up the others.
create index requests_clearable on requests (completed_at)
  where cleared_at is null and completed_at is not null and wake_at is null;
comment on column requests.cleared_at is 'When its payloads were deleted: input, output, attempts, notifications. Null: they are there.';

alter table files add column put_off_until timestamptz;
create index files_due on files (coalesce(put_off_until, expires_at));
drop index files_expires;
comment on column files.put_off_until is 'When its removal is next tried; null: when it expires. Set by whoever removes it, so that only one does.';
