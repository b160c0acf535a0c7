-- What the keys of an account do together, beside what each does.

alter table balances
  add column open_requests integer not null default 0 check (open_requests >= 0),
  add column kept_on date,
  add column kept_bytes bigint not null default 0 check (kept_bytes >= 0);
comment on column balances.open_requests is 'Queued requests of the account that are not final: the sum over its keys.';
comment on column balances.kept_on is 'Day (UTC) that kept_bytes counts; null: none yet.';
comment on column balances.kept_bytes is 'Bytes of the inputs that were submitted on that day.';

update balances b set open_requests = u.open from (
  select account_id, sum(open_requests)::int as open from key_usage group by account_id) u
where u.account_id = b.account_id and u.open > 0;

create unlogged table account_windows (
  account_id uuid primary key,
  started_at timestamptz not null,
  calls      integer not null,
  asked      integer not null,
  granted    integer not null
) with (fillfactor = 50);
comment on table account_windows is 'Calls of all keys of an account in its running minute. Unlogged, as key_windows.';
comment on column account_windows.account_id is 'accounts.id.';
comment on column account_windows.started_at is 'First call of the window; it lasts 60 s.';
comment on column account_windows.calls is 'Calls let through in this window.';
comment on column account_windows.asked is 'Calls of the newest batch that their keys let through.';
comment on column account_windows.granted is 'How many of them were let through.';

comment on column request_inputs.input is 'The model input as the caller sent it; of a closed row, the fields that it knows. Of a chat call: no messages.';
