-- No process of an older version writes what the books or callers rely on. Each session says for which schema its
-- process was made (farebox.schema, see server/src/db/schema.ts); a version from before this migration says nothing.
-- The number is read at each write, so a process that has not noticed a migration yet is refused too.

create function refuse_older_version() returns trigger language plpgsql as $$
declare
  needed integer := (select coalesce(max(number), 0) from migrations);
  made_for integer := nullif(current_setting('farebox.schema', true), '');
begin
  if made_for >= needed then return null; end if;
  raise exception 'the database is at migration %, and this session is made for %', needed,
    coalesce(made_for::text, 'an older one') using errcode = 'read_only_sql_transaction',
    hint = format('A session by hand needs: set farebox.schema = ''%s''', needed);
end $$;
comment on function refuse_older_version is
  'Its error is that of a standby, because every version answers 503 to it and repeats its work later.';

-- Calls, status and money; then what an older version would do or judge wrongly beside them.
create trigger key_windows_version before insert on key_windows
  for each statement execute function refuse_older_version();
create trigger requests_version before insert or update or delete on requests
  for each statement execute function refuse_older_version();
create trigger transfers_version before insert on transfers
  for each statement execute function refuse_older_version();
do $$ declare name text; begin
  foreach name in array array['accounts', 'audit_results', 'chains', 'keys', 'operator_events', 'operator_log',
    'people', 'spend_days', 'vouchers'] loop
    execute format('create trigger %1$s_version before insert or update on %1$I
      for each statement execute function refuse_older_version()', name);
  end loop;
end $$;

-- Unlogged: a crash empties it, and backups of files leave it out, because its rows speak of living processes.
create unlogged table processes (
  id          uuid primary key,
  kind        text not null check (length(kind) <= 20),
  host        text not null check (length(host) <= 255),
  pid         integer not null check (pid > 0),
  schema      integer not null check (schema > 0),
  version     text not null check (length(version) <= 50),
  started_at  timestamptz not null default clock_timestamp(),
  beat_at     timestamptz not null default clock_timestamp()
);
comment on table processes is 'The processes that use this database. One that ends in order takes its row away.';
comment on column processes.schema is 'The migration for which the process was made.';
comment on column processes.beat_at is 'Its newest sign of life, at least every 10 seconds.';
