-- Numbered receipts for money that was paid in, and what an account wants to read on them.

alter table accounts add column billed_to text
  check (length(billed_to) between 1 and 500 and billed_to = btrim(billed_to));
comment on column accounts.billed_to is 'Company, address and tax id for new receipts, in lines; null: only name and e-mail address.';

create table receipts (
  number      bigint primary key check (number > 0),
  transfer_id uuid not null unique,
  account_id  uuid not null,
  seller      text not null check (length(seller) between 1 and 1300),
  buyer       text not null check (length(buyer) between 1 and 1000),
  network     text check (length(network) between 1 and 200),
  created_at  timestamptz not null default now()
);
create trigger receipts_append_only before update or delete or truncate on receipts
  for each statement execute function refuse_change();
comment on table receipts is 'Receipts for deposits that were paid. Each keeps the texts of its day, so a reprint is the same.';
comment on column receipts.number is 'Counts all receipts of the service from 1 without a gap, in the order in which they were issued.';
comment on column receipts.transfer_id is 'transfers.id of the deposit, which has amount, source and time.';
comment on column receipts.account_id is 'The account of the deposit.';
comment on column receipts.seller is 'The operator: name, then further lines.';
comment on column receipts.buyer is 'The account: name, e-mail address, then further lines.';
comment on column receipts.network is 'Chain and token as people know them, such as "BNB Chain, USDT"; null: not paid on a chain.';
comment on column receipts.created_at is 'Database clock: when it was first asked for.';
