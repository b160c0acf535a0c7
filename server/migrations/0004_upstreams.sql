-- Several upstreams for a model, calls back from them, and steps that outlast one lease.

-- An upstream may be well and one model of it not: that rests alone.
alter table upstreams add column model text not null default '' check (length(model) <= 2000),
  drop constraint upstreams_pkey,
  add primary key (name, model);
comment on column upstreams.model is 'Its own name of a model; empty: the upstream as a whole.';

-- A lease is renewed while its step goes on, and a call back never cuts one short.
alter table requests add column leased boolean not null default false;
comment on column requests.leased is 'A worker has it: wake_at is the end of its lease.';

alter table attempts add column missing smallint not null default 0 check (missing between 0 and 100),
  add column called_back boolean not null default false;
comment on column attempts.missing is 'Looks in a row at which the upstream knew no such job.';
comment on column attempts.called_back is 'The upstream called back while a worker had the request: the next look is due at once.';
