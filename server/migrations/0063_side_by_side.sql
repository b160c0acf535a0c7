-- Two versions may run beside each other: a migration says which code it breaks, and which of its statements are done.

alter table migrations add column breaks_before integer, add column done integer check (done >= 0);
comment on column migrations.breaks_before is
  'Code that knows no migration from this number on may not run; 0: it may. Null: it has to know this one.';
comment on column migrations.done is 'Statements that are done, of a migration that was begun; null: all are.';

create or replace function refuse_older_version() returns trigger language plpgsql as $$
declare
  needed integer := (select coalesce(max(coalesce(breaks_before, number)), 0) from migrations);
  made_for integer := nullif(current_setting('farebox.schema', true), '');
begin
  if made_for >= needed then return null; end if;
  raise exception 'the database needs code of migration %, and this session is made for %', needed,
    coalesce(made_for::text, 'an older one') using errcode = 'read_only_sql_transaction',
    hint = format('A session by hand needs: set farebox.schema = ''%s''', needed);
end $$;
