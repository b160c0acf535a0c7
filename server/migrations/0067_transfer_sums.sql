-- Sums of an account's transfers by blocks of consecutive numbers, so that adding up a long statement need not read it
-- all. A block is stored when somebody first asks for a sum over it.

create table transfer_sums (
  account_id       uuid not null references accounts (id),
  block            bigint not null check (block >= 0),
  kind             text not null,
  movements        int not null check (movements > 0),
  in_usd_micro     bigint not null check (in_usd_micro >= 0),
  out_usd_micro    bigint not null check (out_usd_micro >= 0),
  amount_usd_micro bigint not null check (amount_usd_micro >= 0),
  earliest         timestamptz not null,
  latest           timestamptz not null,
  primary key (account_id, block, kind)
);
comment on table transfer_sums is 'Sums of full blocks of 1,024 transfers, which never change. Block 0 has the numbers 1 to 1,024.';
comment on column transfer_sums.account_id is 'accounts.id.';
comment on column transfer_sums.block is 'Counts the account''s blocks from 0 without a gap.';
comment on column transfer_sums.kind is 'transfers.kind.';
comment on column transfer_sums.movements is 'Number of transfers of this kind in the block.';
comment on column transfer_sums.in_usd_micro is 'Sum of what they added to the available balance.';
comment on column transfer_sums.out_usd_micro is 'Sum of what they took from it.';
comment on column transfer_sums.amount_usd_micro is 'Sum of their amounts.';
comment on column transfer_sums.earliest is 'The earliest of their times.';
comment on column transfer_sums.latest is 'The latest of their times.';
