-- Rows of the operator's log are numbered without a gap, so that a removed row shows. From here on every deposit,
-- correction, voucher and resolution leaves a row, those of the command line too.

alter table operator_log add column seq bigint;
alter table operator_log disable trigger operator_log_append_only;
update operator_log l set seq = n.seq
  from (select id, row_number() over (order by id) as seq from operator_log) n where n.id = l.id;
alter table operator_log enable trigger operator_log_append_only;
alter table operator_log alter column seq set not null,
  add constraint operator_log_seq_check check (seq > 0),
  add constraint operator_log_seq_key unique (seq);
comment on column operator_log.seq is 'Counts the rows from 1 without a gap.';
comment on column operator_log.person_id is 'Who; null: the command line.';
comment on column operator_log.by_email is 'Their address at that time; "command line" for the command line.';
