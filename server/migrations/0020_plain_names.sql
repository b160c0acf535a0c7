-- Constraints, a column and a table are named by the words that the documents use. The rules are the same.

alter table requests rename constraint open_request_has_alarm to open_request_wakes;
alter table requests rename constraint waiting_has_no_place to waiting_has_no_slot;
comment on column requests.slot is 'Holds one of its upstream''s concurrent slots.';
comment on column requests.waits is 'Its start was tried, and it waits for a slot to be tried again.';

alter table alerts rename column told_at to notified_at;
alter table alerts rename constraint told_of_something to notified_of_something;
alter table alerts rename constraint again_means_told to again_means_notified;
comment on column alerts.notified_at is 'When the balance was seen below the limit; null: it is above. Whoever sets it sends the notification.';
comment on column alerts.tries is 'How many times the notification has been tried since then.';
comment on column alerts.again_at is 'When it is tried again, unless a try succeeds before; null: not again.';

alter table verdicts rename to audit_results;
alter table audit_results rename constraint verdicts_pkey to audit_results_pkey;
alter table audit_results rename constraint verdicts_singleton_check to audit_results_singleton_check;
alter table audit_results rename constraint verdicts_took_ms_check to audit_results_took_ms_check;
comment on table audit_results is 'The newest audit of the books. Unlogged: after a crash of the database it is repeated.';
comment on column audit_results.checked is 'How many rows of what were read.';
