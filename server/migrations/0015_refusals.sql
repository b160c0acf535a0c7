-- Calls that were refused leave no request: customers see here that there were some, and why.

create unlogged table refusals (
  account_id uuid not null,
  key_id     uuid not null,
  began_at   timestamptz not null,
  code       text not null,
  calls      bigint not null check (calls > 0),
  primary key (account_id, key_id, began_at, code)
);
create index refusals_began on refusals (began_at);
comment on table refusals is 'Refused calls by key and error code, counted in stretches of ten minutes and deleted after two hours. Unlogged: after a crash of the database the counts begin at 0.';
comment on column refusals.account_id is 'accounts.id.';
comment on column refusals.key_id is 'keys.id.';
comment on column refusals.began_at is 'Start of the ten minutes.';
comment on column refusals.code is 'Of the error catalogue.';
comment on column refusals.calls is 'How many calls got this answer.';
