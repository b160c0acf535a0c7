-- Where the money of a deposit came from. Until now only the reference of vouchers told it.

alter table transfers add column source text
  check (source in ('paid', 'chain', 'voucher', 'bonus', 'refund'));
comment on column transfers.source is 'Where the money of a deposit came from; null for other kinds.';

-- Rows that exist get the new column filled from what they already say; nothing else of them changes.
alter table transfers disable trigger transfers_append_only;
update transfers set source = case
    when reference ~ '^voucher:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then 'voucher'
    else 'paid' end
  where kind = 'deposit';
alter table transfers enable trigger transfers_append_only;

alter table transfers add constraint deposit_has_source check ((source is not null) = (kind = 'deposit'));

-- The sums of a period.
create index if not exists transfers_deposits on transfers (created_at) where kind = 'deposit';
