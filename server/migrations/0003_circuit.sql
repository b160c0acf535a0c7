-- One account's failures are not taken for the upstream's.

alter table upstreams add column failing_accounts uuid[] not null default '{}'
  check (cardinality(failing_accounts) <= 2);
comment on column upstreams.failing_accounts is 'Whose starts failed since the last that went well: two of them, no more are needed.';
