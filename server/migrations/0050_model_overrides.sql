-- Operators change list prices and routes beside the catalog's files.

create table model_overrides (
  model_id text primary key,
  price json,
  upstreams json,
  changed_at timestamptz not null default now(),
  changed_by text not null check (changed_by <> ''),
  constraint overrides_something check (num_nonnulls(price, upstreams) > 0)
);
comment on table model_overrides is 'Rows of the catalog whose list price or routes an operator has set, in place of those of their files.';
comment on column model_overrides.price is 'Decimal US dollars of a unit: under usd, by resolution, or under input, output, cached_input and cache_write. Null: as in the file.';
comment on column model_overrides.upstreams is 'The routes in order: name of the upstream, model if only that one is meant, share in per cent or null. Null: as in the file.';
comment on column model_overrides.changed_by is 'The address of the operator at that time; "command line" for the command line.';

-- The history of a model or an upstream.
create index operator_log_by_target on operator_log (target, id) where account_id is null;
