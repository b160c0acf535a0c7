-- A route is an upstream and a model of it; tried requests wait in line with the queue; old failures lapse.

alter table requests add column upstream_model text check (length(upstream_model) <= 2000),
  add column waits boolean not null default false,
  add constraint waiting_has_no_place check (not waits or (status = 'IN_PROGRESS' and not slot));
comment on column requests.upstream_model is 'The upstream''s own name of the model there; null: the first that its row names of that upstream.';
comment on column requests.waits is 'Its start was tried, and it waits for a place to be tried again.';

drop index requests_queued;
create index requests_queued on requests (upstream, account_id, id) where not slot and (status = 'IN_QUEUE' or waits);

alter table upstreams drop column failing_accounts,
  add column failed_at timestamptz,
  add column failed_account uuid,
  add column other_failed_at timestamptz;
comment on column upstreams.failed_at is 'When its newest start failed.';
comment on column upstreams.failed_account is 'Whose that was; null: a start has gone well since.';
comment on column upstreams.other_failed_at is 'When one of another account failed last; null: none has since a start went well.';
