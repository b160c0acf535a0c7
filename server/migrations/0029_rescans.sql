-- Blocks that an operator wants to be read once more, while the reading of new blocks goes on.

alter table chains
  add column rescan_from bigint check (rescan_from >= 0),
  add column rescan_to bigint,
  add constraint rescan_in_order check (num_nulls(rescan_from, rescan_to) in (0, 2)
    and rescan_from <= rescan_to);
comment on column chains.rescan_from is 'The next block to be read once more for an operator; null: none is.';
comment on column chains.rescan_to is 'The last of these blocks.';
