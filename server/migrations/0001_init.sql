-- Accounts, keys, the ledger, requests and what belongs to them.
-- The hot tables carry no foreign keys: checking one locks the parent row, and the parent is the row that every
-- request of an account would queue for. Their parents are locked or read in the same transaction anyway, and the
-- audit proves that no child is left without one.

create table accounts (
  id              uuid primary key,
  email           text not null unique check (email = lower(email) and length(email) between 3 and 254),
  status          text not null default 'active' check (status in ('active', 'suspended')),
  is_operator     boolean not null default false,
  webhook_secrets text[] not null check (cardinality(webhook_secrets) between 1 and 2),
  created_at      timestamptz not null default now()
);
comment on table accounts is 'Who pays: one balance, any number of keys.';
comment on column accounts.id is 'UUIDv7.';
comment on column accounts.email is 'Lower case; how an operator names the account.';
comment on column accounts.status is 'A suspended account''s keys are refused from the next call on.';
comment on column accounts.is_operator is 'May use the operator''s pages.';
comment on column accounts.webhook_secrets is 'Signing secrets (whsec_…); two while one is being replaced, newest first.';
comment on column accounts.created_at is 'Database clock.';

create table balances (
  account_id      uuid primary key,
  debits_pending  bigint not null default 0 check (debits_pending >= 0),
  debits_posted   bigint not null default 0 check (debits_posted >= 0),
  credits_pending bigint not null default 0 check (credits_pending = 0),
  credits_posted  bigint not null default 0 check (credits_posted >= 0),
  last_seq        bigint not null default 0 check (last_seq >= 0),
  constraint never_below_zero check (credits_posted - debits_posted - debits_pending >= 0)
) with (fillfactor = 50);
comment on table balances is 'The customers'' side of the ledger, micro-USD. Available = credits_posted - debits_posted - debits_pending.';
comment on column balances.account_id is 'accounts.id.';
comment on column balances.debits_pending is 'Sum of open reservations.';
comment on column balances.debits_posted is 'Sum of charges and of corrections downwards.';
comment on column balances.credits_pending is 'Unused: a deposit is posted or it is not there.';
comment on column balances.credits_posted is 'Sum of deposits and of corrections upwards.';
comment on column balances.last_seq is 'Number of the account''s newest transfer.';

create table transfers (
  id                      uuid primary key,
  account_id              uuid not null,
  seq                     bigint not null check (seq > 0),
  kind                    text not null check (kind in ('deposit', 'adjustment', 'reserve', 'charge', 'release')),
  debit_account_id        uuid not null,
  credit_account_id       uuid not null,
  amount_usd_micro        bigint not null check (amount_usd_micro >= 0),
  available_after_usd_micro bigint not null check (available_after_usd_micro >= 0),
  pending_id              uuid,
  key_id                  uuid,
  reference               text check (length(reference) between 1 and 255),
  reason                  text check (length(reason) <= 1000),
  created_at              timestamptz not null default now(),
  constraint two_sides check (debit_account_id <> credit_account_id and account_id in (debit_account_id, credit_account_id)),
  constraint settlement_names_its_reserve check ((pending_id is not null) = (kind in ('charge', 'release'))),
  constraint deposit_has_reference check (kind <> 'deposit' or reference is not null),
  constraint movement_has_amount check (kind not in ('deposit', 'adjustment') or amount_usd_micro > 0)
);
create unique index transfers_account_seq on transfers (account_id, seq);
create unique index transfers_pending on transfers (pending_id) where pending_id is not null;
create unique index transfers_reference on transfers (reference) where reference is not null;
comment on table transfers is 'Every movement of money, append-only. Each takes an amount from one account and gives it to another.';
comment on column transfers.id is 'UUIDv7. A reserve has its request''s id, so a request has one reserve at most.';
comment on column transfers.account_id is 'The customer''s side: the debited or the credited account.';
comment on column transfers.seq is 'Counts the account''s transfers from 1 without a gap.';
comment on column transfers.kind is 'reserve is pending; charge and release settle one; deposit and adjustment are posted.';
comment on column transfers.debit_account_id is 'Who gives. Operator''s accounts: …0001 deposits, …0002 revenue, …0003 adjustments.';
comment on column transfers.credit_account_id is 'Who gets.';
comment on column transfers.amount_usd_micro is 'Micro-USD. Of a charge: what was taken. Of a release: what was given back.';
comment on column transfers.available_after_usd_micro is 'What the account could spend after this transfer.';
comment on column transfers.pending_id is 'The reserve that this charge or release settles; unique, so that happens once.';
comment on column transfers.key_id is 'The key that spent, for a reserve.';
comment on column transfers.reference is 'The outside name of a deposit or correction; unique, so that it is booked once.';
comment on column transfers.reason is 'Why an operator corrected.';
comment on column transfers.created_at is 'Database clock. The month of a reserve is the month its spending counts in.';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger transfers_append_only before update or delete or truncate on transfers
  for each statement execute function refuse_change();

create table keys (
  id                      uuid primary key,
  account_id              uuid not null references accounts (id),
  name                    text not null check (length(name) between 1 and 100),
  hash                    bytea not null unique check (length(hash) = 32),
  prefix                  text not null check (length(prefix) <= 12),
  last4                   text not null check (length(last4) = 4),
  monthly_limit_usd_micro bigint check (monthly_limit_usd_micro >= 0),
  rpm                     integer check (rpm > 0),
  open_jobs               integer check (open_jobs > 0),
  created_at              timestamptz not null default now(),
  revoked_at              timestamptz
);
create index keys_account on keys (account_id);
comment on table keys is 'API keys. The key itself is shown once and never stored.';
comment on column keys.id is 'UUIDv7; safe to show.';
comment on column keys.account_id is 'Whose money it spends.';
comment on column keys.name is 'The owner''s label.';
comment on column keys.hash is 'SHA-256 of the whole key.';
comment on column keys.prefix is 'First characters, to recognise it by.';
comment on column keys.last4 is 'Last characters, to recognise it by.';
comment on column keys.monthly_limit_usd_micro is 'Charged plus reserved a calendar month (UTC); null: no limit.';
comment on column keys.rpm is 'Calls a minute; null: the service''s default.';
comment on column keys.open_jobs is 'Queued requests that are not final; null: the service''s default.';
comment on column keys.created_at is 'Database clock.';
comment on column keys.revoked_at is 'From then on refused.';

create table key_usage (
  key_id          uuid primary key,
  account_id      uuid not null,
  month           date not null check (extract(day from month) = 1),
  pending_usd_micro bigint not null default 0 check (pending_usd_micro >= 0),
  posted_usd_micro  bigint not null default 0 check (posted_usd_micro >= 0),
  open_requests   integer not null default 0 check (open_requests >= 0)
) with (fillfactor = 50);
comment on table key_usage is 'What a key has spent this month and how many of its jobs are open: the row its limits are decided on.';
comment on column key_usage.key_id is 'keys.id.';
comment on column key_usage.account_id is 'keys.account_id.';
comment on column key_usage.month is 'First day of the month (UTC) that the two amounts count.';
comment on column key_usage.pending_usd_micro is 'Open reservations made in that month.';
comment on column key_usage.posted_usd_micro is 'Charges of reservations made in that month.';
comment on column key_usage.open_requests is 'Queued requests that are not final.';

create unlogged table key_windows (
  key_id     uuid primary key,
  started_at timestamptz not null,
  calls      integer not null,
  asked      integer not null,
  granted    integer not null,
  quota      integer not null
) with (fillfactor = 50);
comment on table key_windows is 'Calls of a key in its running minute. Unlogged: after a crash of the database every minute begins anew.';
comment on column key_windows.key_id is 'keys.id.';
comment on column key_windows.started_at is 'First call of the window; it lasts 60 s.';
comment on column key_windows.calls is 'Calls let through in this window.';
comment on column key_windows.asked is 'Calls of the newest batch.';
comment on column key_windows.granted is 'How many of them were let through.';
comment on column key_windows.quota is 'Calls a minute in force at the newest batch.';

create table requests (
  id               uuid primary key,
  account_id       uuid not null,
  key_id           uuid not null,
  model_id         text not null,
  kind             text not null check (kind in ('video', 'image', 'text')),
  upstream         text not null,
  status           text not null check (status in ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED')),
  slot             boolean not null default false,
  attempt          integer not null default 0 check (attempt >= 0),
  wake_at          timestamptz,
  deadline_at      timestamptz,
  quoted_usd_micro bigint not null check (quoted_usd_micro >= 0),
  charged_usd_micro bigint,
  error_code       text check (error_code in ('upstream_rejected', 'upstream_failed', 'timeout', 'output_too_large', 'outcome_unknown', 'output_unusable')),
  webhook_state    text check (webhook_state in ('pending', 'delivered', 'failed')),
  expires_at       timestamptz,
  created_at       timestamptz not null default now(),
  started_at       timestamptz,
  completed_at     timestamptz,
  constraint open_request_has_alarm check (status not in ('IN_QUEUE', 'IN_PROGRESS') or wake_at is not null),
  constraint final_means_settled check ((status in ('COMPLETED', 'FAILED', 'CANCELLED')) = (charged_usd_micro is not null)),
  constraint final_has_time check ((status in ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at is not null)),
  constraint charge_within_quote check (charged_usd_micro between 0 and quoted_usd_micro),
  constraint failure_is_free check (status not in ('FAILED', 'CANCELLED') or charged_usd_micro = 0),
  constraint failure_has_code check ((status = 'FAILED') = (error_code is not null)),
  constraint progress_has_start check ((status = 'IN_PROGRESS') <= (started_at is not null and deadline_at is not null)),
  constraint queued_not_started check (status not in ('IN_QUEUE', 'CANCELLED') or started_at is null),
  constraint slot_is_open check (not slot or status in ('IN_QUEUE', 'IN_PROGRESS'))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
create index requests_account on requests (account_id, id);
create index requests_queued on requests (upstream, account_id, id) where status = 'IN_QUEUE' and not slot;
create index requests_slots on requests (upstream) where slot;
create index requests_due on requests (wake_at) where wake_at is not null and (status <> 'IN_QUEUE' or slot);
comment on table requests is 'A generation: a narrow row that wakes up. Its JSON lives beside it.';
comment on column requests.id is 'UUIDv7; also the id of its reserve.';
comment on column requests.account_id is 'Who pays.';
comment on column requests.key_id is 'The key that submitted.';
comment on column requests.model_id is 'Catalog id.';
comment on column requests.kind is 'Kind of the output; text rows are chat calls and never queued.';
comment on column requests.upstream is 'The upstream it waits for or runs on.';
comment on column requests.status is 'The five public states.';
comment on column requests.slot is 'Holds one of its upstream''s concurrent places.';
comment on column requests.attempt is 'Counts claims; every later write names the one it belongs to, so a late worker changes nothing.';
comment on column requests.wake_at is 'When a worker must next touch it; pushed forward by a claim, which is the lease.';
comment on column requests.deadline_at is 'When an unfinished generation is given up.';
comment on column requests.quoted_usd_micro is 'Reserved at submit.';
comment on column requests.charged_usd_micro is 'Set once, when it becomes final.';
comment on column requests.error_code is 'Why it FAILED.';
comment on column requests.webhook_state is 'Null: none asked for.';
comment on column requests.expires_at is 'When its outputs are deleted; null: none, or deleted.';
comment on column requests.created_at is 'Database clock.';
comment on column requests.started_at is 'First call to an upstream.';
comment on column requests.completed_at is 'When it became final.';

create table request_inputs (
  request_id      uuid primary key,
  account_id      uuid not null,
  idempotency_key text check (length(idempotency_key) between 1 and 255),
  fingerprint     bytea check (length(fingerprint) = 32),
  input           json not null,
  quote           json not null,
  queue_position  integer not null default 0,
  webhook_url     text check (length(webhook_url) <= 2048),
  created_at      timestamptz not null default now(),
  constraint key_has_fingerprint check ((idempotency_key is null) = (fingerprint is null))
);
create unique index request_inputs_idempotency on request_inputs (account_id, idempotency_key) where idempotency_key is not null;
create index request_inputs_kept_keys on request_inputs (created_at) where idempotency_key is not null;
comment on table request_inputs is 'What was asked: written once with its request.';
comment on column request_inputs.request_id is 'requests.id.';
comment on column request_inputs.account_id is 'requests.account_id.';
comment on column request_inputs.idempotency_key is 'The caller''s key of this submit; unique within the account.';
comment on column request_inputs.fingerprint is 'SHA-256 of method, path, body and webhook: tells a replay from a conflict.';
comment on column request_inputs.input is 'The model input as the caller sent it. Of a chat call: no messages.';
comment on column request_inputs.quote is 'The quote with its rates: what the charge is computed from.';
comment on column request_inputs.queue_position is 'As told in the reply, so that a replay tells the same.';
comment on column request_inputs.webhook_url is 'Where to notify.';
comment on column request_inputs.created_at is 'Database clock.';

create table request_results (
  request_id     uuid primary key,
  account_id     uuid not null,
  output         json,
  error_message  text check (length(error_message) <= 2000),
  quantity       double precision check (quantity >= 0),
  cost_usd_micro bigint check (cost_usd_micro >= 0),
  created_at     timestamptz not null default now()
);
comment on table request_results is 'How it ended: written once with the final state.';
comment on column request_results.request_id is 'requests.id.';
comment on column request_results.account_id is 'requests.account_id.';
comment on column request_results.output is 'The reply without its media; of a chat call with an Idempotency-Key, the whole reply.';
comment on column request_results.error_message is 'Public text of a failure.';
comment on column request_results.quantity is 'Units delivered.';
comment on column request_results.cost_usd_micro is 'What the upstream took from the operator; null: not known.';
comment on column request_results.created_at is 'Database clock.';

create table attempts (
  request_id   uuid not null,
  attempt      integer not null,
  upstream     text not null,
  class        text not null check (class in ('A', 'B', 'C+', 'C')),
  request_hash bytea not null check (length(request_hash) = 32),
  handle       json,
  outcome      text check (outcome in ('accepted', 'done', 'rejected', 'not_accepted', 'unknown', 'missing')),
  message      text check (length(message) <= 2000),
  progress     json,
  created_at   timestamptz not null default now(),
  primary key (request_id, attempt)
);
comment on table attempts is 'The intent to call an upstream, committed before the call, and what came of it.';
comment on column attempts.request_id is 'requests.id; also the idempotency key towards the upstream.';
comment on column attempts.attempt is 'requests.attempt of the worker that called.';
comment on column attempts.upstream is 'Whom.';
comment on column attempts.class is 'How that upstream lets a lost answer be recovered.';
comment on column attempts.request_hash is 'SHA-256 of what is sent.';
comment on column attempts.handle is 'What the upstream knows the job by; once it is here the job is never submitted again.';
comment on column attempts.outcome is 'Null: the call is under way, or its caller died. missing: its answer was lost, and one search did not find it.';
comment on column attempts.message is 'Internal: what the upstream said.';
comment on column attempts.progress is 'Newest {progress, logs} of a poll.';
comment on column attempts.created_at is 'Database clock.';

create table outputs (
  request_id       uuid not null,
  index            integer not null check (index >= 0),
  account_id       uuid not null,
  field            text not null,
  storage_key      text not null,
  content_type     text not null,
  size             bigint not null check (size > 0),
  sha256           text not null check (length(sha256) = 64),
  width            integer,
  height           integer,
  duration_seconds double precision,
  file_name        text not null,
  primary key (request_id, index)
);
comment on table outputs is 'Media of completed requests, as stored and measured here.';
comment on column outputs.request_id is 'requests.id.';
comment on column outputs.index is 'Number in the output link.';
comment on column outputs.account_id is 'requests.account_id.';
comment on column outputs.field is 'Where it stands in the reply: a plural makes a list.';
comment on column outputs.storage_key is 'Where the bytes are.';
comment on column outputs.content_type is 'Sniffed from the bytes.';
comment on column outputs.size is 'Bytes.';
comment on column outputs.sha256 is 'Of the bytes, hex.';
comment on column outputs.width is 'Pixels.';
comment on column outputs.height is 'Pixels.';
comment on column outputs.duration_seconds is 'Seconds.';
comment on column outputs.file_name is 'Suggested to whoever downloads it.';

create table webhook_deliveries (
  request_id  uuid not null,
  attempt     integer not null,
  account_id  uuid not null,
  url         text not null,
  status      integer,
  error       text check (length(error) <= 500),
  duration_ms integer not null,
  created_at  timestamptz not null default now(),
  primary key (request_id, attempt)
);
comment on table webhook_deliveries is 'Notifications that were sent, one row a POST.';
comment on column webhook_deliveries.request_id is 'requests.id; also the webhook-id.';
comment on column webhook_deliveries.attempt is 'requests.attempt of the worker that sent.';
comment on column webhook_deliveries.account_id is 'requests.account_id.';
comment on column webhook_deliveries.url is 'Where to.';
comment on column webhook_deliveries.status is 'HTTP status; null: none came.';
comment on column webhook_deliveries.error is 'Why none came, or why it counts as failed.';
comment on column webhook_deliveries.duration_ms is 'Milliseconds.';
comment on column webhook_deliveries.created_at is 'Database clock.';

create table files (
  id           uuid primary key,
  account_id   uuid not null,
  storage_key  text not null,
  content_type text not null,
  size         bigint not null check (size >= 0),
  sha256       text not null check (length(sha256) = 64),
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null
);
create index files_expires on files (expires_at);
create index files_account on files (account_id, id);
comment on table files is 'Uploaded files, kept for a week.';
comment on column files.id is 'UUIDv7; file_ and its hex digits on the wire.';
comment on column files.account_id is 'Who may use it.';
comment on column files.storage_key is 'Where the bytes are.';
comment on column files.content_type is 'Sniffed, and agreed with the declared one.';
comment on column files.size is 'Bytes.';
comment on column files.sha256 is 'Of the bytes, hex.';
comment on column files.created_at is 'Database clock.';
comment on column files.expires_at is 'Deleted then.';

create table upstreams (
  name           text primary key,
  cursor_account uuid not null default '00000000-0000-0000-0000-000000000000',
  paused_until   timestamptz,
  failures       integer not null default 0,
  last_error     text check (length(last_error) <= 2000)
);
comment on table upstreams is 'What all processes share about an upstream.';
comment on column upstreams.name is 'As in the catalog.';
comment on column upstreams.cursor_account is 'Account served last: the next turn goes to the one after it.';
comment on column upstreams.paused_until is 'No starts before then: the upstream asked for it, or failed too often.';
comment on column upstreams.failures is 'Starts that failed in a row.';
comment on column upstreams.last_error is 'Internal: the newest failure.';
