-- By this row a service notices that its database is a copy, restored from a dump or to a point in time.

create table installation (
  singleton boolean primary key default true check (singleton),
  id uuid not null,
  beat bigint not null check (beat >= 0),
  beat_at timestamptz not null,
  writer xid8 not null,
  database_oid bigint not null check (database_oid > 0),
  timeline integer,
  held_since timestamptz,
  held_why text check (held_why in ('copy', 'rewound', 'timeline')),
  check ((held_since is null) = (held_why is null))
);
comment on table installation is 'One row: which database this is, and how far its history goes. Made by the first service that starts on it.';
comment on column installation.singleton is 'Always true: there is one row.';
comment on column installation.id is 'Changes when a restored copy goes on: what processes remember of the original does not count for it.';
comment on column installation.beat is 'Counts up while any process runs, about every 10 s. One that is far behind what a process remembers shows a history that was cut.';
comment on column installation.beat_at is 'When it last did; never goes back.';
comment on column installation.writer is 'The transaction that wrote this row. A row that was dumped and restored has another one as its xmin.';
comment on column installation.database_oid is 'The database in which it was written; a copy made from a template has another.';
comment on column installation.timeline is 'Timeline of the write-ahead log at that time; null: the server does not tell. It changes with a failover and with a recovery to a point in time.';
comment on column installation.held_since is 'Since when nothing is started or sent, as this is a restored copy; null: it is not held.';
comment on column installation.held_why is 'copy: restored from a dump, or imported; rewound: a process remembers a later state; timeline: a new timeline after a long pause, with nothing that remembers.';
