-- A stop belongs to a row of the catalog, no longer to what its upstreams call the model.

create table stopped_models (
  model_id text primary key,
  stopped_at timestamptz not null default now(),
  stopped_by text not null check (stopped_by <> '')
);
comment on table stopped_models is 'Rows of the catalog of which an operator lets nothing start.';
comment on column stopped_models.stopped_by is 'The address of the operator at that time; "command line" for the command line.';

-- Rows whose newest change in the log is a stop, and at least one route of which is still stopped.
insert into stopped_models (model_id, stopped_at, stopped_by)
  select l.target, l.created_at, l.by_email
  from (select distinct on (target) target, action, details, created_at, by_email from operator_log
    where action in ('model.stop', 'model.resume') order by target, seq desc) l
  where l.action = 'model.stop' and exists (select from upstreams u
    where u.stopped and l.details::jsonb -> 'routes' @> to_jsonb(u.name || ' ' || u.model));

update upstreams set paused_until = null where stopped;
alter table upstreams drop column stopped;
