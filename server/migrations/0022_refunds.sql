-- Refunds of requests: deposits of the source refund that come out of revenue and name the request.

alter table transfers add column refunded_id uuid;
comment on column transfers.refunded_id is 'requests.id of the charge that this deposit gives back, whole or in part; null for other transfers.';
alter table transfers add constraint refund_is_a_deposit
  check (refunded_id is null or source = 'refund');
create index if not exists transfers_refunds on transfers (refunded_id) where refunded_id is not null;

-- A refund lowers the day on which it is booked, which may have no charges.
alter table revenue drop constraint revenue_charged_usd_micro_check;
alter table spending drop constraint spending_charged_usd_micro_check;
comment on column revenue.charged_usd_micro is 'Sum of their charges, less the refunds of that day.';
comment on column spending.charged_usd_micro is 'Sum of their charges, less the refunds of that day.';
