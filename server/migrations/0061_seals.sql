-- Seals: what the books said when a day was over, so that proving them need not read all history each time.

create table seal_heads (
  number      bigint primary key check (number > 0),
  day         date not null,
  seals       integer not null check (seals > 0),
  transfers   bigint not null check (transfers > 0),
  requests_to uuid not null,
  hash        bytea not null check (length(hash) = 32),
  created_at  timestamptz not null
);
comment on table seal_heads is 'One row for all seals that were made together; each continues the hash of the one before.';
comment on column seal_heads.number is 'Counts from 1 without a gap. The order of heads; their times may go back with the clock.';
comment on column seal_heads.day is 'The day (UTC) that was over, or the running day if very many transfers were sealed early.';
comment on column seal_heads.transfers is 'Transfers that its seals cover.';
comment on column seal_heads.requests_to is 'Requests with lower ids were proved when it was made.';
comment on column seal_heads.hash is 'SHA-256 over the hash before, this row (without created_at) and its seals.';
comment on column seal_heads.created_at is 'Database clock.';

create table seals (
  account_id     uuid not null,
  last_seq       bigint not null check (last_seq > 0),
  head           bigint not null references seal_heads (number),
  debits_posted  bigint not null check (debits_posted >= 0),
  credits_posted bigint not null check (credits_posted >= 0),
  debits_pending bigint not null check (debits_pending >= 0),
  debt           bigint not null check (debt >= 0),
  hash           bytea not null check (length(hash) = 32),
  primary key (account_id, last_seq)
);
create index seals_head on seals (head, account_id, last_seq);
comment on table seals is 'The transfers of an account after its seal before, up to a number. Never changed.';
comment on column seals.account_id is 'balances.account_id.';
comment on column seals.last_seq is 'transfers.seq of the last transfer that it covers.';
comment on column seals.head is 'seal_heads.number.';
comment on column seals.debits_posted is 'Sums of all transfers of the account up to last_seq, as in balances.';
comment on column seals.hash is 'SHA-256 over the hash before, the sums and the transfers.';

create trigger seal_heads_append_only before update or delete or truncate on seal_heads
  for each statement execute function refuse_change();
create trigger seals_append_only before update or delete or truncate on seals
  for each statement execute function refuse_change();

-- Unlogged: after a crash, proving what is old begins anew.
create unlogged table audit_progress (
  singleton    boolean primary key default true check (singleton),
  began_at     timestamptz not null,
  part_at      timestamptz not null,
  whole_at     timestamptz,
  account_id   uuid not null,
  last_seq     bigint not null,
  head         bigint not null,
  request_id   uuid not null,
  counted_id   uuid not null
);
comment on table audit_progress is 'How far what is old was proved, a part with each audit.';
comment on column audit_progress.began_at is 'When the running round through all history began.';
comment on column audit_progress.part_at is 'When the newest part was proved.';
comment on column audit_progress.whole_at is 'When the last whole round began: all was proved since then. Null: no round has ended.';
comment on column audit_progress.account_id is 'With last_seq: the seal after which the next part begins.';
comment on column audit_progress.head is 'The head after which the next part begins.';
comment on column audit_progress.request_id is 'The lowest request of the next part.';
comment on column audit_progress.counted_id is 'The lowest account whose counters the next part computes again.';

alter table operator_events drop constraint operator_events_type_check;
alter table operator_events add constraint operator_events_type_check check (type in ('deposit.credited',
  'deposit.held', 'account.created', 'balance.low', 'upstream.paused', 'upstream.credential', 'chain.stopped',
  'books.broken', 'books.sealed', 'disk.low', 'outcome.unknown'));

alter table audit_results
  add column whole_at timestamptz,
  add column is_behind boolean not null default false;
comment on column audit_results.whole_at is 'All history was proved since then. Null: not yet.';
comment on column audit_results.is_behind is 'More was new than one audit proves, so the next one follows soon.';
