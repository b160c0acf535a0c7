-- A request that cost the operator more than it brought is shown at once, and its model can be stopped.

alter table request_results add column loss_usd_micro bigint check (loss_usd_micro > 0);
comment on column request_results.loss_usd_micro is 'By how much the cost of a completed request exceeds its charge; null: it does not.';

create index request_results_losses on request_results (created_at) where loss_usd_micro is not null;

alter table upstreams add column stopped boolean not null default false;
comment on column upstreams.stopped is 'An operator stopped this model: it stays paused, whatever succeeds, until an operator resumes it.';
