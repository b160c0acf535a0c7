-- Callers see each call that was refused, for seven days. Counts of the calls beyond a bound stay as they were.

create table refused_calls (
  id         uuid primary key,
  account_id uuid not null,
  key_id     uuid not null,
  began_at   timestamptz not null check (began_at = date_bin('1 hour', began_at, 'epoch')),
  code       text not null check (length(code) between 1 and 100),
  place      smallint not null check (place between 1 and 20),
  call_id    text not null check (length(call_id) between 1 and 200),
  created_at timestamptz not null,
  model_id   text check (length(model_id) between 1 and 300),
  path       text not null check (length(path) between 1 and 500),
  status     smallint not null check (status between 400 and 499),
  reason     text check (length(reason) between 1 and 100),
  unique (account_id, began_at, code, place)
);
create index refused_calls_account on refused_calls (account_id, id);
comment on table refused_calls is 'Calls of keys that were refused, at most 20 of an account, code and hour; deleted after seven days. No input and no secret of a caller is in it.';
comment on column refused_calls.id is 'UUIDv7, of the moment of the refusal.';
comment on column refused_calls.account_id is 'accounts.id.';
comment on column refused_calls.key_id is 'keys.id.';
comment on column refused_calls.began_at is 'Start of the hour of created_at.';
comment on column refused_calls.code is 'Of the error catalogue.';
comment on column refused_calls.place is 'Place among the refused calls of this account, code and hour.';
comment on column refused_calls.call_id is 'The x-request-id of the reply.';
comment on column refused_calls.created_at is 'When the call was refused.';
comment on column refused_calls.model_id is 'The model that the call named; null: none, or one that does not exist.';
comment on column refused_calls.path is 'The path of the route, with ids that are ours and without a query.';
comment on column refused_calls.status is 'HTTP status of the reply, or of the error in a stream.';
comment on column refused_calls.reason is 'details.reason of the error; null: it had none.';

-- Counts are kept as long as the list, in hours, and survive a crash.
alter table refusals set logged;
comment on table refusals is 'Refused calls by key and error code, counted by hours and deleted after seven days.';
comment on column refusals.began_at is 'Start of the hour.';
