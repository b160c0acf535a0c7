-- Sums of an account's usage by day, so that adding up a month need not read its requests. A past day is stored when
-- somebody first asks for it.

create table usage_rollups (
  account_id uuid not null references accounts (id),
  day        date not null,
  primary key (account_id, day)
);
comment on table usage_rollups is 'Past days of which usage_days has an account''s sums. Nothing that counts in them changes later.';
comment on column usage_rollups.account_id is 'accounts.id.';
comment on column usage_rollups.day is 'The day (UTC).';

create table usage_days (
  account_id        uuid not null references accounts (id),
  day               date not null,
  model_id          text not null,
  key_id            uuid not null,
  person_id         uuid,
  completed         bigint not null check (completed >= 0),
  failed            bigint not null check (failed >= 0),
  charged_usd_micro bigint not null,
  input_tokens      bigint not null check (input_tokens >= 0),
  output_tokens     bigint not null check (output_tokens >= 0),
  cached_tokens     bigint not null check (cached_tokens >= 0),
  reasoning_tokens  bigint not null check (reasoning_tokens >= 0)
);
create index usage_days_account on usage_days (account_id, day);
comment on table usage_days is 'Sums of requests by the day on which they ended, and of refunds by the day on which they were booked.';
comment on column usage_days.account_id is 'accounts.id.';
comment on column usage_days.day is 'The day (UTC).';
comment on column usage_days.model_id is 'requests.model_id.';
comment on column usage_days.key_id is 'requests.key_id.';
comment on column usage_days.person_id is 'requests.person_id.';
comment on column usage_days.completed is 'Number of COMPLETED requests.';
comment on column usage_days.failed is 'Number of FAILED requests.';
comment on column usage_days.charged_usd_micro is 'Sum of their charges, less the refunds of that day.';
comment on column usage_days.input_tokens is 'Sum of request_results.input_tokens, as the other tokens.';
