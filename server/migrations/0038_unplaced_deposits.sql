-- A deposit is held although no endpoint has shown the receipt of its transaction.

alter table chain_deposits
  alter column log_position drop not null,
  add column block_log_index integer check (block_log_index >= 0),
  add constraint placed_or_numbered check (num_nonnulls(log_position, block_log_index) > 0),
  add constraint credited_is_placed check (state <> 'credited' or log_position is not null);
create unique index chain_deposits_unplaced on chain_deposits (chain, tx_hash, block_log_index)
  where log_position is null;
comment on column chain_deposits.log_position is 'The place of its log among the logs of the transaction''s receipt, from 0; null: no endpoint has shown the receipt yet.';
comment on column chain_deposits.block_log_index is 'The number of its log in its block; null: it was written before this was kept.';
