-- A broken law is proved over all history until it holds, so the newest result must outlive a crash.

alter table audit_results set logged;
alter table audit_progress set logged;
comment on table audit_results is 'The newest audit of the books. Laws that it found broken are proved over all history until they hold.';
comment on table audit_progress is 'How far what is old was proved, a part with each audit. Exports leave it and audit_results out.';
