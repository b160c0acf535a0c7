-- Deposits of USDT on blockchains: where reading stands, whose address is whose, and what arrived.

create table chains (
  name             text primary key check (name ~ '^[a-z][a-z0-9-]{1,29}$'),
  chain_id         bigint not null check (chain_id > 0),
  start_height     bigint check (start_height >= 0),
  scanned_height   bigint,
  scanned_hash     text check (scanned_hash ~ '^0x[0-9a-f]{64}$'),
  scanned_block_at timestamptz,
  rescanned_height bigint,
  head_height      bigint check (head_height >= 0),
  read_at          timestamptz,
  wake_at          timestamptz not null default now(),
  attempt          integer not null default 0 check (attempt >= 0),
  failures         integer not null default 0 check (failures >= 0),
  last_error       text check (length(last_error) <= 2000),
  refused_why      text check (length(refused_why) between 1 and 500),
  stopped_why      text check (length(stopped_why) between 1 and 500),
  constraint begun_together check (num_nulls(start_height, scanned_height, rescanned_height)
    in (0, 3)),
  constraint reads_from_start check (scanned_height >= start_height - 1),
  constraint rescan_follows check (rescanned_height between start_height - 1 and scanned_height)
);
comment on table chains is 'Each blockchain that is read, and how far.';
comment on column chains.name is 'As in its chain file.';
comment on column chains.chain_id is 'What its endpoints answer to eth_chainId; a chain file with another one is refused.';
comment on column chains.start_height is 'The first block that is read; null: nothing was read yet.';
comment on column chains.scanned_height is 'Every deposit up to this final block is a row of chain_deposits.';
comment on column chains.scanned_hash is 'The hash of that block. If the chain has another one, reading stops; null: none was read, or an operator has resumed the reading.';
comment on column chains.scanned_block_at is 'When that block was made.';
comment on column chains.rescanned_height is 'Up to this block a second endpoint has been read as well.';
comment on column chains.head_height is 'The newest block at the last read.';
comment on column chains.read_at is 'When it was last read without an error.';
comment on column chains.wake_at is 'When a worker reads it next; while it is read, the end of the lease.';
comment on column chains.attempt is 'Counts the reads. Only the newest may write.';
comment on column chains.failures is 'Reads in succession that failed.';
comment on column chains.last_error is 'Internal: why the newest of them failed.';
comment on column chains.refused_why is 'A wrong setting of the chain. No address is shown until a read succeeds; null: none is known.';
comment on column chains.stopped_why is 'Why it is not read until an operator resumes it; null: it is read.';

create table deposit_keys (
  id         uuid primary key,
  family     text not null check (family in ('evm', 'tron')),
  xpub       text not null check (xpub ~ '^xpub[1-9A-HJ-NP-Za-km-z]{107}$'),
  next_index integer not null default 0 check (next_index >= 0),
  retired_at timestamptz,
  created_at timestamptz not null default now(),
  unique (family, xpub)
);
create unique index deposit_keys_current on deposit_keys (family) where retired_at is null;
comment on table deposit_keys is 'The public keys that addresses are derived from, one for each family at a time.';
comment on column deposit_keys.id is 'UUIDv7.';
comment on column deposit_keys.family is 'evm: one address for all EVM chains.';
comment on column deposit_keys.xpub is 'Extended public key of the account level. It cannot move money, but shows all addresses.';
comment on column deposit_keys.next_index is 'The index of the next address.';
comment on column deposit_keys.retired_at is 'No new addresses since; those that exist are still read.';
comment on column deposit_keys.created_at is 'Database clock.';

create table deposit_addresses (
  family     text not null check (family in ('evm', 'tron')),
  address    text not null check (address ~ '^0x[0-9a-f]{40}$'),
  account_id uuid not null references accounts (id),
  key_id     uuid not null references deposit_keys (id),
  index      integer not null check (index >= 0),
  retired_at timestamptz,
  shown_at   timestamptz,
  created_at timestamptz not null default now(),
  primary key (family, address),
  unique (key_id, index)
);
create unique index deposit_addresses_current on deposit_addresses (account_id, family)
  where retired_at is null;
create index deposit_addresses_account on deposit_addresses (account_id);
create index deposit_addresses_shown on deposit_addresses (family, shown_at)
  where shown_at is not null;
comment on table deposit_addresses is 'Whose address is whose. No row is ever deleted or given to another account: money may come years later.';
comment on column deposit_addresses.family is 'As in deposit_keys.';
comment on column deposit_addresses.address is 'The 20 bytes in hex; TRON shows them in base58.';
comment on column deposit_addresses.account_id is 'Deposits to the address are this account''s.';
comment on column deposit_addresses.key_id is 'It was derived from this key.';
comment on column deposit_addresses.index is 'Its path is 0/index below the key.';
comment on column deposit_addresses.retired_at is 'The account has a newer one; this one is still read.';
comment on column deposit_addresses.shown_at is 'When it was last asked for, to the minute: a deposit may come soon.';
comment on column deposit_addresses.created_at is 'Database clock.';

create table chain_deposits (
  id               uuid primary key,
  chain            text not null references chains (name),
  tx_hash          text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  log_position     integer not null check (log_position >= 0),
  block_height     bigint not null check (block_height >= 0),
  block_hash       text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  block_at         timestamptz not null,
  token            text not null check (token ~ '^0x[0-9a-f]{40}$'),
  from_address     text not null check (from_address ~ '^0x[0-9a-f]{40}$'),
  to_address       text not null check (to_address ~ '^0x[0-9a-f]{40}$'),
  amount_units     numeric(78, 0) not null check (amount_units >= 0),
  amount_usd_micro bigint not null check (amount_usd_micro >= 0),
  account_id       uuid references accounts (id),
  state            text not null check (state in ('held', 'credited', 'ignored')),
  why              text check (why in
    ('unconfirmed', 'unmatched', 'review', 'dust', 'token', 'operator')),
  transfer_id      uuid unique,
  seen_at          timestamptz not null default now(),
  created_at       timestamptz not null default now(),
  credited_at      timestamptz,
  unique (chain, tx_hash, log_position),
  constraint credited_is_booked check ((state = 'credited') = (transfer_id is not null)),
  constraint credited_has_time check ((state = 'credited') = (credited_at is not null)),
  constraint credited_has_owner
    check (state <> 'credited' or account_id is not null and amount_usd_micro > 0),
  constraint uncredited_says_why check ((state = 'credited') = (why is null)),
  constraint why_fits_state
    check (why is null or (state = 'held') = (why in ('unconfirmed', 'unmatched', 'review')))
);
create index chain_deposits_held on chain_deposits (chain, created_at) where state = 'held';
create index chain_deposits_account on chain_deposits (account_id, id) where account_id is not null;
comment on table chain_deposits is 'Deposits in final blocks, each once. Credited is the end.';
comment on column chain_deposits.id is 'UUIDv7.';
comment on column chain_deposits.chain is 'chains.name. Chain, transaction and position name a deposit, wherever a reorg mines it.';
comment on column chain_deposits.tx_hash is 'The transaction that brought it.';
comment on column chain_deposits.log_position is 'The place of its log among the logs of the transaction''s receipt, from 0.';
comment on column chain_deposits.block_height is 'The block of the transaction.';
comment on column chain_deposits.block_hash is 'The hash of that block.';
comment on column chain_deposits.block_at is 'When that block was made.';
comment on column chain_deposits.token is 'The contract of the token.';
comment on column chain_deposits.from_address is 'The sender, often an exchange.';
comment on column chain_deposits.to_address is 'The address that got it.';
comment on column chain_deposits.amount_units is 'In the smallest unit of the token.';
comment on column chain_deposits.amount_usd_micro is 'The same in micro-USD, rounded down.';
comment on column chain_deposits.account_id is 'Whose address that is; null: no account''s.';
comment on column chain_deposits.state is 'held: it waits for an operator, or for another endpoint.';
comment on column chain_deposits.why is 'Why it is not credited.';
comment on column chain_deposits.transfer_id is 'Its deposit in the ledger, with the reference chain:<chain>:<tx_hash>:<log_position>.';
comment on column chain_deposits.seen_at is 'When it was seen first, perhaps before its block was final.';
comment on column chain_deposits.created_at is 'Database clock.';
comment on column chain_deposits.credited_at is 'Booked then.';

create table chain_sightings (
  chain            text not null references chains (name),
  tx_hash          text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  block_log_index  integer not null check (block_log_index >= 0),
  block_height     bigint not null check (block_height >= 0),
  token            text not null check (token ~ '^0x[0-9a-f]{40}$'),
  to_address       text not null check (to_address ~ '^0x[0-9a-f]{40}$'),
  account_id       uuid not null references accounts (id),
  amount_usd_micro bigint not null check (amount_usd_micro >= 0),
  seen_at          timestamptz not null default now(),
  gone_at          timestamptz,
  primary key (chain, tx_hash, block_log_index)
);
create index chain_sightings_account on chain_sightings (account_id);
comment on table chain_sightings is 'Deposits in blocks that are not final yet. They are only shown; each read replaces them.';
comment on column chain_sightings.chain is 'chains.name.';
comment on column chain_sightings.tx_hash is 'The transaction that brings it.';
comment on column chain_sightings.block_log_index is 'The number of its log in its block, which a reorg may change.';
comment on column chain_sightings.block_height is 'The block of the transaction.';
comment on column chain_sightings.token is 'The contract of the token.';
comment on column chain_sightings.to_address is 'The address that gets it.';
comment on column chain_sightings.account_id is 'Whose address that is.';
comment on column chain_sightings.amount_usd_micro is 'What would be credited.';
comment on column chain_sightings.seen_at is 'When it was seen first.';
comment on column chain_sightings.gone_at is 'When the chain was first found without it; null: the chain has it.';

-- Finds payments that an operator credited by hand under the hash of their transaction.
create index transfers_named_hash
  on transfers (substring(lower(reference) from '(?:0x|[0-9a-f]*)([0-9a-f]{64})'))
  where reference is not null and reference !~ '^chain:';
