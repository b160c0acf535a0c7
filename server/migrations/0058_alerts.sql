-- Accounts are alerted by e-mail unless they switch it off. An account that has chosen settings keeps them; if it wants
-- no e-mails about its balance, it gets none about the rest.

alter table alerts
  add column key_limits       boolean not null default true,
  add column failing_webhooks boolean not null default true,
  add column failing_jobs     boolean not null default true;
update alerts set key_limits = emails, failing_webhooks = emails, failing_jobs = emails;
comment on table alerts is 'About what an account is alerted. No row: nobody has chosen, so all alerts are on.';
comment on column alerts.emails is 'By e-mail to its owners and billing people when the balance is low.';
comment on column alerts.key_limits is 'By e-mail when a key has used most of its monthly limit, and all of it.';
comment on column alerts.failing_webhooks is 'By e-mail when webhooks fail.';
comment on column alerts.failing_jobs is 'By e-mail when most jobs fail.';

create table alert_causes (
  id           bigint generated always as identity primary key,
  account_id   uuid not null references accounts (id),
  cause        text not null check (cause in ('key_near', 'key_full', 'webhooks', 'jobs')),
  subject      text not null check (length(subject) <= 36),
  period_start timestamptz not null,
  facts        json not null,
  found_at     timestamptz not null default now(),
  tries        smallint not null default 0 check (tries >= 0),
  again_at     timestamptz,
  notified_at  timestamptz,
  unique (account_id, cause, subject, period_start),
  constraint notified_is_over check (notified_at is null or again_at is null)
);
create index alert_causes_due on alert_causes (again_at) where again_at is not null;
create index alert_causes_found on alert_causes (found_at);
comment on table alert_causes is 'Each cause of an e-mail to an account, once in its period; deleted after 40 days.';
comment on column alert_causes.account_id is 'accounts.id.';
comment on column alert_causes.cause is 'key_near, key_full: a key''s monthly limit; webhooks, jobs: they fail.';
comment on column alert_causes.subject is 'keys.id; empty: the account.';
comment on column alert_causes.period_start is 'Start of the month (keys) or day (UTC).';
comment on column alert_causes.facts is 'Amounts and counts when it was found.';
comment on column alert_causes.found_at is 'Database clock.';
comment on column alert_causes.tries is 'How often an e-mail was begun.';
comment on column alert_causes.again_at is 'An e-mail is due then; null: sent, given up, or not wanted.';
comment on column alert_causes.notified_at is 'When an e-mail was sent; null: none was.';

-- A check reads only the last hour of all accounts, and only keys that have a limit.
create index keys_limited on keys (id) where monthly_limit_usd_micro > 0 and revoked_at is null;
create index webhook_deliveries_failed_lately on webhook_deliveries (id) include (account_id)
  where cause = 'final' and (status is null or status not between 200 and 299);
create index requests_ended_jobs on requests (completed_at) include (account_id, status)
  where kind <> 'text' and completed_at is not null;
