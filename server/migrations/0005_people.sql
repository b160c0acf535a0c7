-- Who signs in to the web pages, with what right to which account, and what the pages keep.

create table people (
  id                 uuid primary key,
  name               text not null check (length(name) between 1 and 100),
  email              text not null unique check (email = lower(email) and length(email) between 3 and 254),
  email_verified     boolean not null default false,
  image              text,
  two_factor_enabled boolean not null default false,
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now()
);
-- Every word of their address and name, by its beginning: how an operator finds their accounts.
create index people_words on people using gin
  (to_tsvector('simple', regexp_replace(email || ' ' || name, '[!-/:-@\[-`{-~]+', ' ', 'g')));
comment on table people is 'Who signs in. A person may belong to several accounts.';
comment on column people.id is 'UUIDv7.';
comment on column people.name is 'As they call themselves.';
comment on column people.email is 'Lower case; what they sign in with.';
comment on column people.email_verified is 'They have opened a link that was sent there.';
comment on column people.image is 'A picture that an identity provider gave; not shown.';
comment on column people.two_factor_enabled is 'A password alone does not sign them in.';
comment on column people.created_at is 'Database clock.';
comment on column people.updated_at is 'Last change of this row.';

create table sessions (
  id         uuid primary key,
  person_id  uuid not null references people (id) on delete cascade,
  token      text not null unique,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sessions_person on sessions (person_id);
comment on table sessions is 'Browsers that are signed in. Deleting a row signs out.';
comment on column sessions.id is 'UUIDv7.';
comment on column sessions.person_id is 'Who.';
comment on column sessions.token is 'Stands signed in the cookie.';
comment on column sessions.expires_at is 'Signed out then.';
comment on column sessions.ip_address is 'From where they signed in.';
comment on column sessions.user_agent is 'With which browser.';
comment on column sessions.created_at is 'When they signed in.';
comment on column sessions.updated_at is 'When its end was last moved.';

create table logins (
  id                       uuid primary key,
  person_id                uuid not null references people (id) on delete cascade,
  provider_id              text not null,
  provider_account_id      text not null,
  password                 text,
  access_token             text,
  refresh_token            text,
  id_token                 text,
  access_token_expires_at  timestamptz,
  refresh_token_expires_at timestamptz,
  scope                    text,
  created_at               timestamptz not null default now(),
  updated_at               timestamptz not null default now(),
  unique (provider_id, provider_account_id)
);
create index logins_person on logins (person_id);
comment on table logins is 'Ways to sign in: a password (provider credential), or an identity provider.';
comment on column logins.id is 'UUIDv7.';
comment on column logins.person_id is 'Whom it signs in.';
comment on column logins.provider_id is 'credential, or oidc.';
comment on column logins.provider_account_id is 'Their id there; of a password, people.id.';
comment on column logins.password is 'Argon2id, salted.';
comment on column logins.access_token is 'Of the identity provider; not kept.';
comment on column logins.refresh_token is 'Of the identity provider; not kept.';
comment on column logins.id_token is 'Of the identity provider; not kept.';
comment on column logins.access_token_expires_at is 'Of the identity provider.';
comment on column logins.refresh_token_expires_at is 'Of the identity provider.';
comment on column logins.scope is 'What the identity provider was asked for.';
comment on column logins.created_at is 'Database clock.';
comment on column logins.updated_at is 'Last change of this row.';

create table verifications (
  id         uuid primary key,
  identifier text not null,
  value      text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index verifications_identifier on verifications (identifier);
create index verifications_end on verifications (expires_at);
-- Of a person or a step: what steps keep may be longer than another index takes.
create index verifications_value on verifications using hash (value);
comment on table verifications is 'Steps that wait for their second half: links to reset a password or to another e-mail address, challenges of passkeys.';
comment on column verifications.id is 'UUIDv7.';
comment on column verifications.identifier is 'What is being proven.';
comment on column verifications.value is 'By whom or with what.';
comment on column verifications.expires_at is 'No longer good then.';
comment on column verifications.created_at is 'Database clock.';
comment on column verifications.updated_at is 'Last change of this row.';

create table two_factors (
  id                        uuid primary key,
  person_id                 uuid not null references people (id) on delete cascade,
  secret                    text not null,
  backup_codes              text not null,
  verified                  boolean,
  last_step                 integer,
  failed_verification_count integer not null default 0,
  locked_until              timestamptz
);
create index two_factors_person on two_factors (person_id);
comment on table two_factors is 'Authenticator apps.';
comment on column two_factors.id is 'UUIDv7.';
comment on column two_factors.person_id is 'Whose.';
comment on column two_factors.secret is 'Encrypted with the signing secret.';
comment on column two_factors.backup_codes is 'Encrypted; each good once.';
comment on column two_factors.verified is 'A first code was right.';
comment on column two_factors.last_step is 'Half minute since 1970 of the newest code that was used: it and older ones are good no more.';
comment on column two_factors.failed_verification_count is 'Wrong codes in a row.';
comment on column two_factors.locked_until is 'After too many of them.';

-- Whatever changes how somebody signs in takes back, in the same commit, what stood open in their
-- name: a crash in between would leave a link or a trusted browser good.
create function forget_steps() returns trigger language plpgsql as $$
begin
  delete from verifications where value = coalesce(new.person_id, old.person_id)::text;
  return null;
end $$;
create trigger logins_password after update of password on logins
  for each row when (old.password is distinct from new.password) execute function forget_steps();
create trigger logins_new after insert on logins
  for each row when (new.password is not null) execute function forget_steps();
create trigger two_factors_changed after insert or delete on two_factors
  for each row execute function forget_steps();
create trigger two_factors_verified after update of verified on two_factors
  for each row when (old.verified is distinct from new.verified) execute function forget_steps();

create table passkeys (
  id            uuid primary key,
  person_id     uuid not null references people (id) on delete cascade,
  name          text,
  public_key    text not null,
  credential_id text not null unique,
  counter       integer not null,
  device_type   text not null,
  backed_up     boolean not null,
  transports    text,
  aaguid        text,
  created_at    timestamptz default now()
);
create index passkeys_person on passkeys (person_id);
comment on table passkeys is 'Passkeys (WebAuthn): only their public halves.';
comment on column passkeys.id is 'UUIDv7.';
comment on column passkeys.person_id is 'Whom it signs in.';
comment on column passkeys.name is 'The owner''s label.';
comment on column passkeys.public_key is 'Base64.';
comment on column passkeys.credential_id is 'How the browser names it.';
comment on column passkeys.counter is 'Goes up with each use, where the device counts.';
comment on column passkeys.device_type is 'singleDevice or multiDevice.';
comment on column passkeys.backed_up is 'Kept by the device''s maker as well.';
comment on column passkeys.transports is 'How the browser reaches it.';
comment on column passkeys.aaguid is 'The make of the device.';
comment on column passkeys.created_at is 'Database clock.';

create unlogged table sign_in_windows (
  id           uuid primary key,
  key          text not null unique,
  count        integer not null,
  last_request double precision not null
);
comment on table sign_in_windows is 'How often somebody tried to sign in. Unlogged: a crash of the database forgets it.';
comment on column sign_in_windows.id is 'UUIDv7.';
comment on column sign_in_windows.key is 'Address and path, or the hash of an e-mail address.';
comment on column sign_in_windows.count is 'Tries in the running window.';
comment on column sign_in_windows.last_request is 'Milliseconds since 1970.';

create table members (
  account_id uuid not null references accounts (id),
  person_id  uuid not null references people (id) on delete cascade,
  role       text not null check (role in ('owner', 'developer', 'billing', 'read_only')),
  created_at timestamptz not null default now(),
  primary key (account_id, person_id)
);
create index members_person on members (person_id);
create function members_keep_owner() returns trigger language plpgsql as $$
begin
  -- Two who take each other out at the same time wait for one another here.
  perform from accounts where id = old.account_id for no key update;
  if exists (select from members where account_id = old.account_id)
    and not exists (select from members where account_id = old.account_id and role = 'owner') then
    raise exception 'account % would have people but no owner', old.account_id
      using errcode = 'check_violation', constraint = 'members_keep_owner';
  end if;
  return null;
end $$;
create constraint trigger members_keep_owner after update or delete on members
  deferrable initially deferred for each row execute function members_keep_owner();
comment on table members is 'Who may do what with an account on the web pages.';
comment on column members.account_id is 'accounts.id.';
comment on column members.person_id is 'people.id.';
comment on column members.role is 'owner: all; developer: keys, webhooks, studio; billing: top-ups and alerts; read_only: looks.';
comment on column members.created_at is 'Database clock.';

create table invitations (
  id          uuid primary key,
  account_id  uuid references accounts (id),
  email       text not null check (email = lower(email) and length(email) between 3 and 254),
  role        text not null check (role in ('owner', 'developer', 'billing', 'read_only')),
  token_hash  bytea not null unique check (length(token_hash) = 32),
  proof_hash  bytea unique check (length(proof_hash) = 32),
  invited_by  uuid references people (id) on delete set null,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  accepted_at timestamptz
);
create index invitations_account on invitations (account_id);
create index invitations_email on invitations (email) where accepted_at is null;
comment on table invitations is 'Links that let somebody in.';
comment on column invitations.id is 'UUIDv7.';
comment on column invitations.account_id is 'Into which account; null: to sign up, with an account of their own.';
comment on column invitations.email is 'For whom. The link is good for this address only.';
comment on column invitations.role is 'What they will be there.';
comment on column invitations.token_hash is 'SHA-256 of what stands in the link.';
comment on column invitations.proof_hash is 'The same of a link that proves the address too: it was mailed there, or an operator vouches for it. Null: there is none.';
comment on column invitations.invited_by is 'Null: the command line, or somebody who is gone.';
comment on column invitations.created_at is 'Database clock.';
comment on column invitations.expires_at is 'No longer good then.';
comment on column invitations.accepted_at is 'Used up; null: open.';

alter table accounts
  add column name text check (length(name) between 1 and 100),
  add column price_ppm integer not null default 1000000 check (price_ppm between 0 and 100000000);
-- Every word of an account's address and name, by its beginning: how an operator finds it.
create index accounts_words on accounts using gin
  (to_tsvector('simple', regexp_replace(email || ' ' || coalesce(name, ''), '[!-/:-@\[-`{-~]+', ' ', 'g')));
create index accounts_suspended on accounts (id) where status = 'suspended';
create index accounts_operators on accounts (id) where is_operator;
comment on column accounts.name is 'As its people call it; null: its e-mail address.';
comment on column accounts.price_ppm is 'Multiplies every rate of the catalog, in millionths: 1000000 is the list price.';

alter table keys
  add column expires_at     timestamptz,
  add column models         text[] check (cardinality(models) between 1 and 200),
  add column is_studio      boolean not null default false,
  add column previous_hash  bytea check (length(previous_hash) = 32),
  add column previous_until timestamptz,
  add column monthly_ceiling_usd_micro bigint,
  add column rpm_ceiling       integer,
  add column open_jobs_ceiling integer,
  add constraint overlap_has_end check ((previous_hash is null) = (previous_until is null)),
  add constraint studio_stays check (not is_studio or (revoked_at is null and expires_at is null
    and previous_hash is null and models is null));
-- Until now only operators could set any.
update keys set monthly_ceiling_usd_micro = monthly_limit_usd_micro, rpm_ceiling = rpm,
  open_jobs_ceiling = open_jobs;
alter table keys
  add constraint below_monthly_ceiling check (monthly_ceiling_usd_micro is null
    or coalesce(monthly_limit_usd_micro <= monthly_ceiling_usd_micro, false)),
  add constraint below_rpm_ceiling check (rpm_ceiling is null
    or coalesce(rpm <= rpm_ceiling, false)),
  add constraint below_open_jobs_ceiling check (open_jobs_ceiling is null
    or coalesce(open_jobs <= open_jobs_ceiling, false));
drop index keys_account;
create index keys_account on keys (account_id, id);
create index keys_living on keys (account_id, id) where revoked_at is null;
-- What is shown of a key: how an operator finds the one that somebody speaks of.
create index keys_hint on keys (prefix, last4);
create unique index keys_previous on keys (previous_hash) where previous_hash is not null;
create unique index keys_studio on keys (account_id) where is_studio;
alter table accounts
  add column key_monthly_ceiling_usd_micro bigint check (key_monthly_ceiling_usd_micro >= 0),
  add column key_rpm_ceiling integer check (key_rpm_ceiling > 0),
  add column key_open_jobs_ceiling integer check (key_open_jobs_ceiling > 0);
update accounts a set key_monthly_ceiling_usd_micro = k.monthly, key_rpm_ceiling = k.rpm,
  key_open_jobs_ceiling = k.open_jobs
from (select account_id, min(monthly_ceiling_usd_micro) as monthly, min(rpm_ceiling) as rpm,
  min(open_jobs_ceiling) as open_jobs from keys group by account_id) k where k.account_id = a.id;
comment on column accounts.key_monthly_ceiling_usd_micro is 'What an operator last changed this limit of one of its keys to: those that its people make get it. Null: nothing.';
comment on column accounts.key_rpm_ceiling is 'The same of rpm.';
comment on column accounts.key_open_jobs_ceiling is 'The same of open_jobs.';
comment on column keys.expires_at is 'Refused from then on; null: never.';
comment on column keys.models is 'The only models it may use; null: all.';
comment on column keys.is_studio is 'Spends for the web pages; nobody has its text.';
comment on column keys.previous_hash is 'SHA-256 of the text before the last rotation, which is still good for a while.';
comment on column keys.previous_until is 'Until when.';
comment on column keys.monthly_ceiling_usd_micro is 'What an operator has set: its people may go lower. Null: nothing.';
comment on column keys.rpm_ceiling is 'The same of rpm.';
comment on column keys.open_jobs_ceiling is 'The same of open_jobs.';

alter table key_windows
  add column used_at          timestamptz not null default now(),
  add column previous_used_at timestamptz;
comment on column key_windows.used_at is 'Newest call of the key.';
comment on column key_windows.previous_used_at is 'Newest call with the text before the last rotation; null: none since.';

create table alerts (
  account_id            uuid primary key references accounts (id),
  low_balance_usd_micro bigint check (low_balance_usd_micro > 0),
  emails                boolean not null default true,
  webhook_url           text check (length(webhook_url) <= 2048),
  told_at               timestamptz,
  tries                 smallint not null default 0 check (tries >= 0),
  again_at              timestamptz,
  constraint told_of_something check (told_at is null or low_balance_usd_micro is not null),
  constraint again_means_told check (again_at is null or told_at is not null)
);
comment on table alerts is 'When and how an account wants to hear that its balance runs low.';
comment on column alerts.account_id is 'accounts.id.';
comment on column alerts.low_balance_usd_micro is 'Below this available balance; null: never.';
comment on column alerts.emails is 'Tell its owners and billing people by e-mail.';
comment on column alerts.webhook_url is 'Tell this address as well.';
comment on column alerts.told_at is 'Seen below, and claimed by who tells; null: it is above.';
comment on column alerts.tries is 'How often telling was begun since then.';
comment on column alerts.again_at is 'Told again then, unless whoever tells has ended well before; null: that is over.';

create table vouchers (
  id              uuid primary key,
  code_hash       bytea not null unique check (length(code_hash) = 32),
  last4           text not null check (length(last4) = 4),
  amount_usd_micro bigint not null check (amount_usd_micro > 0),
  note            text check (length(note) <= 200),
  created_by      uuid references people (id) on delete set null,
  created_at      timestamptz not null default now(),
  expires_at      timestamptz,
  voided_at       timestamptz,
  redeemed_at     timestamptz,
  redeemed_by     uuid references accounts (id),
  constraint redeemed_by_somebody check ((redeemed_at is null) = (redeemed_by is null)),
  constraint redeemed_or_void check (redeemed_at is null or voided_at is null)
);
create index vouchers_last4 on vouchers (last4) where redeemed_by is not null;
create index vouchers_words on vouchers using gin
  (to_tsvector('simple', regexp_replace(note, '[!-/:-@\[-`{-~]+', ' ', 'g')))
  where redeemed_by is not null;
comment on table vouchers is 'Codes worth money, each once. Redeeming one is a deposit.';
comment on column vouchers.id is 'UUIDv7; its deposit has the reference voucher:<id>.';
comment on column vouchers.code_hash is 'SHA-256 of the code, which is shown once.';
comment on column vouchers.last4 is 'Last characters, to recognise it by.';
comment on column vouchers.amount_usd_micro is 'Its worth.';
comment on column vouchers.note is 'What for.';
comment on column vouchers.created_by is 'The operator who made it; null: the command line.';
comment on column vouchers.created_at is 'Database clock.';
comment on column vouchers.expires_at is 'Worth nothing from then on; null: never.';
comment on column vouchers.voided_at is 'Taken back before it was redeemed.';
comment on column vouchers.redeemed_at is 'Booked then.';
comment on column vouchers.redeemed_by is 'To this account.';

create table spend_rollups (
  account_id uuid primary key references accounts (id),
  since      date not null,
  until      date not null,
  constraint in_order check (since <= until)
);
comment on table spend_rollups is 'Which days of an account spend_days has: all its requests of them are final, so they never change again.';
comment on column spend_rollups.account_id is 'accounts.id.';
comment on column spend_rollups.since is 'First day (UTC).';
comment on column spend_rollups.until is 'The day after the last one.';

create table spend_days (
  account_id        uuid not null references accounts (id),
  day               date not null,
  kind              text not null check (kind in ('video', 'image', 'text')),
  model_id          text not null,
  charged_usd_micro bigint not null check (charged_usd_micro >= 0),
  requests          integer not null check (requests > 0),
  primary key (account_id, day, kind, model_id)
);
comment on table spend_days is 'What an account was charged a day: sums of requests, kept so that an overview need not read them all.';
comment on column spend_days.account_id is 'accounts.id.';
comment on column spend_days.day is 'The day (UTC) in which the requests were made.';
comment on column spend_days.kind is 'requests.kind.';
comment on column spend_days.model_id is 'requests.model_id.';
comment on column spend_days.charged_usd_micro is 'Sum of their charges.';
comment on column spend_days.requests is 'How many there were, whatever came of them.';

-- Few among all transfers, and looked for by themselves.
create index transfers_top_ups on transfers (account_id, seq) where kind in ('deposit', 'adjustment');

alter table webhook_deliveries
  drop constraint webhook_deliveries_pkey,
  alter column request_id drop not null,
  alter column attempt drop not null,
  add column id uuid primary key default gen_random_uuid(),
  add column cause text not null default 'final'
    check (cause in ('final', 'resend', 'test', 'low_balance')),
  add constraint final_names_its_request
    check (cause <> 'final' or (request_id is not null and attempt is not null)),
  add constraint resend_names_its_request check (cause <> 'resend' or request_id is not null);
create unique index webhook_deliveries_final on webhook_deliveries (request_id, attempt) where cause = 'final';
create index webhook_deliveries_request on webhook_deliveries (request_id) where request_id is not null;
create index webhook_deliveries_loose on webhook_deliveries (created_at) where request_id is null;
create index webhook_deliveries_account on webhook_deliveries (account_id, id);
comment on column webhook_deliveries.id is 'UUIDv7.';
comment on column webhook_deliveries.cause is 'final: the request ended; resend and test: by hand; low_balance: an alert.';
comment on column webhook_deliveries.request_id is 'requests.id; null: it was about none.';
comment on column webhook_deliveries.attempt is 'requests.attempt of the worker that sent; null: by hand, or an alert.';

create table operator_log (
  id         uuid primary key,
  person_id  uuid,
  by_email   text not null check (length(by_email) <= 254),
  action     text not null check (length(action) between 1 and 100),
  account_id uuid,
  target     text check (length(target) <= 300),
  details    json,
  created_at timestamptz not null default now()
);
create index operator_log_account on operator_log (account_id, id) where account_id is not null;
create index operator_log_author on operator_log (by_email, id);
create index operator_log_action on operator_log (action, id);
create trigger operator_log_append_only before update or delete or truncate on operator_log
  for each statement execute function refuse_change();
comment on table operator_log is 'What operators did, append-only.';
comment on column operator_log.id is 'UUIDv7.';
comment on column operator_log.person_id is 'Who.';
comment on column operator_log.by_email is 'Their address at that time.';
comment on column operator_log.action is 'account.credit, voucher.create …';
comment on column operator_log.account_id is 'To which account, where to one.';
comment on column operator_log.target is 'To what else.';
comment on column operator_log.details is 'Amounts, reasons, the values before and after.';
comment on column operator_log.created_at is 'Database clock.';

-- What a day brought, once it is over: nothing that has ended changes any more.
create table revenue_days (
  day        date primary key,
  created_at timestamptz not null default now()
);
comment on table revenue_days is 'Days (UTC) whose figures are in revenue and spending.';
comment on column revenue_days.day is 'Over for an hour at least.';
comment on column revenue_days.created_at is 'When it was summed up.';

create table revenue (
  day               date not null,
  kind              text not null check (kind in ('video', 'image', 'text')),
  model_id          text not null,
  upstream          text not null,
  completed         bigint not null check (completed >= 0),
  failed            bigint not null check (failed >= 0),
  charged_usd_micro bigint not null check (charged_usd_micro >= 0),
  cost_usd_micro    bigint not null check (cost_usd_micro >= 0),
  uncosted          bigint not null check (uncosted between 0 and completed),
  primary key (day, kind, model_id, upstream)
);
comment on table revenue is 'What a day''s requests brought and cost, by model and upstream.';
comment on column revenue.day is 'Of their end, UTC.';
comment on column revenue.kind is 'requests.kind.';
comment on column revenue.model_id is 'requests.model_id.';
comment on column revenue.upstream is 'Where they ended.';
comment on column revenue.completed is 'How many were COMPLETED.';
comment on column revenue.failed is 'How many FAILED.';
comment on column revenue.charged_usd_micro is 'Sum of their charges.';
comment on column revenue.cost_usd_micro is 'Sum of what upstreams took, of failed ones too.';
comment on column revenue.uncosted is 'How many were COMPLETED at a cost that nobody knows.';

create table spending (
  day               date not null,
  account_id        uuid not null,
  completed         bigint not null check (completed >= 0),
  failed            bigint not null check (failed >= 0),
  charged_usd_micro bigint not null check (charged_usd_micro >= 0),
  cost_usd_micro    bigint not null check (cost_usd_micro >= 0),
  primary key (day, account_id)
);
comment on table spending is 'What a day''s requests of one account brought and cost.';
comment on column spending.day is 'Of their end, UTC.';
comment on column spending.account_id is 'Who paid.';
comment on column spending.completed is 'How many were COMPLETED.';
comment on column spending.failed is 'How many FAILED.';
comment on column spending.charged_usd_micro is 'Sum of their charges.';
comment on column spending.cost_usd_micro is 'Sum of what upstreams took, of failed ones too.';

-- Results are written in the order of their time: this finds those of a day and costs a write nothing.
create index request_results_time on request_results using brin (created_at)
  with (pages_per_range = 32, autosummarize = on);

create unlogged table verdicts (
  singleton  boolean primary key default true check (singleton),
  ok         boolean not null,
  checked    json not null,
  violations json not null,
  took_ms    integer not null check (took_ms >= 0),
  created_at timestamptz not null default now()
);
comment on table verdicts is 'The newest proof of the books. Unlogged: after a crash they are proved anew.';
comment on column verdicts.singleton is 'There is one row.';
comment on column verdicts.ok is 'No law is broken.';
comment on column verdicts.checked is 'How many rows of what were looked at.';
comment on column verdicts.violations is 'The laws that are broken, with examples.';
comment on column verdicts.took_ms is 'How long that took.';
comment on column verdicts.created_at is 'When it ended.';

alter table upstreams add column last_why text check (last_why is null or last_error is not null);
comment on column upstreams.last_why is 'What kind of refusal last_error is: credential, account …; null: a start has gone well since.';

alter table request_results add column error_cause text check (length(error_cause) <= 2000);
comment on column request_results.error_cause is 'Internal: what was wrong behind a failure, where that is not what its caller is told.';

alter table attempts add column answered_at timestamptz;
comment on column attempts.answered_at is 'When its outcome was first known; null: it is not, or the answer was the end of the request.';

create table resolutions (
  request_id     uuid primary key,
  account_id     uuid not null,
  outcome        text not null check (outcome in ('ran', 'did_not_run')),
  cost_usd_micro bigint not null check (cost_usd_micro >= 0),
  note           text check (length(note) between 1 and 1000),
  person_id      uuid,
  by_email       text not null check (length(by_email) <= 254),
  created_at     timestamptz not null default now(),
  constraint what_did_not_run_is_free check (outcome = 'ran' or cost_usd_micro = 0)
);
create trigger resolutions_append_only before update or delete or truncate on resolutions
  for each statement execute function refuse_change();
-- Few end so: this costs the others nothing.
create index requests_unknown on requests (id) where error_code = 'outcome_unknown';
comment on table resolutions is 'What an operator found out about requests whose outcome was unknown. Append-only; the customer''s charge is not touched.';
comment on column resolutions.request_id is 'requests.id; resolved once.';
comment on column resolutions.account_id is 'requests.account_id.';
comment on column resolutions.outcome is 'ran: the upstream made it and billed for it.';
comment on column resolutions.cost_usd_micro is 'What it took from the operator; booked into request_results.';
comment on column resolutions.note is 'How that was found out.';
comment on column resolutions.person_id is 'Which operator.';
comment on column resolutions.by_email is 'Their address at that time.';
comment on column resolutions.created_at is 'Database clock.';
