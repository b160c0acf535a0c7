-- A start whose answer was lost may be left for the next route: it stays written down until its cost is known.

alter table attempts
  add column upstream_model text check (length(upstream_model) <= 2000),
  add column left_at timestamptz,
  add column cost_usd_micro bigint check (cost_usd_micro >= 0),
  add constraint left_without_an_answer check (left_at is null or outcome is not null);
comment on column attempts.upstream_model is 'The upstream''s own name of the model that was asked for.';
comment on column attempts.left_at is 'When the next route was tried because the answer was lost: the upstream may have run it all the same. Such a row is kept.';
comment on column attempts.cost_usd_micro is 'What a start that was left has cost, once somebody found out; null: nobody knows yet.';

-- Few are left: this costs the others nothing.
create index attempts_left on attempts (request_id) where left_at is not null;
