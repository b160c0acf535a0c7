-- Keys for the operator's API. Rows of the operator's log name the key that wrote them.

create table operator_keys (
  id         uuid primary key,
  name       text not null check (length(name) between 1 and 100),
  hash       bytea not null unique check (length(hash) = 32),
  prefix     text not null check (length(prefix) <= 12),
  last4      text not null check (length(last4) = 4),
  scopes     text[] not null check (cardinality(scopes) > 0),
  created_by text not null check (length(created_by) between 1 and 254),
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint known_scopes check (scopes <@ array['read', 'accounts', 'keys', 'money'])
);
comment on table operator_keys is 'Keys for the operator''s API. The key itself is shown once and never stored.';
comment on column operator_keys.id is 'UUIDv7; safe to show.';
comment on column operator_keys.name is 'The operator''s label.';
comment on column operator_keys.hash is 'SHA-256 of the whole key.';
comment on column operator_keys.prefix is 'First characters, to recognise it by.';
comment on column operator_keys.last4 is 'Last characters, to recognise it by.';
comment on column operator_keys.scopes is 'The kinds of calls that it may make.';
comment on column operator_keys.created_by is 'The address of its maker at that time; "command line" for the command line.';
comment on column operator_keys.created_at is 'Database clock.';
comment on column operator_keys.revoked_at is 'Refused from then on.';

create unlogged table operator_key_windows (
  key_id     uuid primary key,
  started_at timestamptz not null,
  calls      integer not null check (calls > 0),
  used_at    timestamptz not null
) with (fillfactor = 50);
comment on table operator_key_windows is 'Calls of an operator key in its running minute. Unlogged, as key_windows.';
comment on column operator_key_windows.key_id is 'operator_keys.id.';
comment on column operator_key_windows.started_at is 'First call of the window; it lasts 60 s.';
comment on column operator_key_windows.calls is 'Calls in this window; one more than allowed once a call was refused.';
comment on column operator_key_windows.used_at is 'Its newest call.';

alter table operator_log add column operator_key_id uuid,
  add constraint person_or_key check (person_id is null or operator_key_id is null);
comment on column operator_log.operator_key_id is 'The operator key that did it; null: a person or the command line.';
comment on column operator_log.person_id is 'The operator; null: an operator key or the command line.';
comment on column operator_log.by_email is 'Their address at that time; "operator key NAME" for a key, "command line" for the command line.';

-- The operator's API lists deposits and corrections of all accounts.
create index if not exists transfers_top_ups_of_all on transfers (id) where kind in ('deposit', 'adjustment');
