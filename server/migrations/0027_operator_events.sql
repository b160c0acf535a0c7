-- Events to the operator: a row is queue and clock of its webhook, and remembers its letter.

create table operator_channels (
  channel  text primary key check (channel in ('webhook', 'letters')),
  began_at timestamptz not null default now(),
  seen_at  timestamptz not null default now(),
  wake_at  timestamptz not null default now(),
  attempt  integer not null default 0 check (attempt >= 0)
);
comment on table operator_channels is 'How events reach the operator. Without a row that was seen within a day, no event is written.';
comment on column operator_channels.channel is 'webhook: FAREBOX_OPERATOR_WEBHOOK_URL is set. letters: mail is set up.';
comment on column operator_channels.began_at is 'When it was first set up. Unknown outcomes before that are not announced.';
comment on column operator_channels.seen_at is 'When a process last ran with it, to the minute.';
comment on column operator_channels.wake_at is 'letters: the next one is sent then at the earliest.';
comment on column operator_channels.attempt is 'letters: counts them, failed ones too.';

create table operator_events (
  id          uuid primary key,
  seq         bigint not null generated always as identity unique,
  type        text not null check (type in ('deposit.credited', 'deposit.held', 'account.created',
    'balance.low', 'upstream.paused', 'upstream.credential', 'chain.stopped', 'books.broken',
    'disk.low', 'outcome.unknown')),
  account_id  uuid references accounts (id),
  subject     text check (length(subject) between 1 and 500),
  data        jsonb not null check (jsonb_typeof(data) = 'object' and length(data::text) <= 8000),
  created_at  timestamptz not null default now(),
  wake_at     timestamptz,
  give_up_at  timestamptz not null,
  attempt     integer not null default 0 check (attempt >= 0),
  failures    integer not null default 0 check (failures >= 0),
  sent_at     timestamptz,
  last_status integer check (last_status between 100 and 999),
  last_error  text check (length(last_error) <= 500),
  letter_due  boolean not null,
  constraint sent_waits_for_nothing check (sent_at is null or wake_at is null),
  constraint sent_was_accepted check (sent_at is null or last_error is null)
);
create index operator_events_due on operator_events (wake_at) where wake_at is not null;
create index operator_events_order
  on operator_events (account_id, seq) where wake_at is not null and account_id is not null;
create index operator_events_letters on operator_events (seq) where letter_due;
create index operator_events_subjects on operator_events (type, subject, created_at)
  where subject is not null;
create index operator_events_given_up on operator_events (seq)
  where wake_at is null and sent_at is null and last_error is not null;
create index operator_events_created on operator_events (created_at);
comment on table operator_events is 'What the operator is notified of. Deleted after 30 days.';
comment on column operator_events.id is 'UUIDv7. Every delivery of the event has it as webhook-id.';
comment on column operator_events.seq is 'Events of an account are sent in this order.';
comment on column operator_events.type is 'What happened.';
comment on column operator_events.account_id is 'Whose; null: it concerns the installation.';
comment on column operator_events.subject is 'Repeats about the same subject are left out for a while; null: each is an event.';
comment on column operator_events.data is 'Facts, by type; no secrets.';
comment on column operator_events.created_at is 'Database clock.';
comment on column operator_events.wake_at is 'When a process sends it next; while it is sent, the end of the lease. Null: it was sent or given up, or no webhook was set up.';
comment on column operator_events.give_up_at is 'A delivery that fails after this time is the last.';
comment on column operator_events.attempt is 'Counts the deliveries. Only the newest may write.';
comment on column operator_events.failures is 'Deliveries in succession that failed.';
comment on column operator_events.sent_at is 'When the receiver accepted it.';
comment on column operator_events.last_status is 'The status of the newest reply; null: there was none.';
comment on column operator_events.last_error is 'Why the newest delivery failed; null: it did not.';
comment on column operator_events.letter_due is 'A letter to the operators is to name it.';
