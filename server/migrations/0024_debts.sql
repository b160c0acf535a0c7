-- Debts: a correction that takes more than is available is lent to the account, if the operator
-- allows it, and what comes in next pays it back.

alter table balances add column debt bigint not null default 0 check (debt >= 0);
comment on column balances.debt is 'Lent and not paid back: what comes in next pays it first.';

alter table transfers
  drop constraint transfers_kind_check,
  drop constraint movement_has_amount;
alter table transfers
  add constraint transfers_kind_check
    check (kind in ('deposit', 'adjustment', 'reserve', 'charge', 'release', 'debt')),
  add constraint movement_has_amount
    check (kind not in ('deposit', 'adjustment', 'debt') or amount_usd_micro > 0);
create index if not exists transfers_debts on transfers (account_id) where kind = 'debt';
comment on column transfers.kind is 'reserve is pending; charge and release settle one; deposit, adjustment and debt are posted.';
comment on column transfers.debit_account_id is 'Who gives. Operator''s accounts: …0001 deposits, …0002 revenue, …0003 adjustments, …0004 debts.';
