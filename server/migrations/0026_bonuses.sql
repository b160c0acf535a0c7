-- Bonuses with an end: what is unspent at that time goes back by a transfer of the kind expiry.

alter table transfers drop constraint transfers_kind_check;
alter table transfers add constraint transfers_kind_check
  check (kind in ('deposit', 'adjustment', 'reserve', 'charge', 'release', 'debt', 'expiry'));

create table bonuses (
  transfer_id       uuid primary key,
  account_id        uuid not null,
  expires_at        timestamptz not null,
  left_usd_micro    bigint not null check (left_usd_micro >= 0),
  counted_usd_micro bigint not null check (counted_usd_micro >= 0),
  ended_by          uuid constraint bonuses_ended_by_key unique
);
create index bonuses_due on bonuses (expires_at) where ended_by is null;
create index bonuses_account on bonuses (account_id, expires_at) where ended_by is null;
comment on table bonuses is 'Bonus deposits with an end.';
comment on column bonuses.transfer_id is 'transfers.id of the deposit.';
comment on column bonuses.account_id is 'Its account.';
comment on column bonuses.expires_at is 'What is unspent then goes back.';
comment on column bonuses.left_usd_micro is 'Unspent when counted_usd_micro had been taken from the account.';
comment on column bonuses.counted_usd_micro is 'balances.debits_posted up to which spending is taken off.';
comment on column bonuses.ended_by is 'transfers.id of the expiry; null: the bonus goes on.';
