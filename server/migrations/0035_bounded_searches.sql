-- A page of a search reads about as many rows as it shows.

create index webhook_deliveries_failed on webhook_deliveries (account_id, id)
  where status is null or status not between 200 and 299;

-- By metadata: an index of jsonb does not give its hits in order, so a search read all hits, or all requests of the
-- account.

create table metadata_pairs (
  account_id uuid not null,
  name       text not null,
  value      text not null,
  request_id uuid not null
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
comment on table metadata_pairs is 'The pairs of request_inputs.metadata, each with its request.';
comment on column metadata_pairs.account_id is 'request_inputs.account_id.';
comment on column metadata_pairs.name is 'Name of the pair.';
comment on column metadata_pairs.value is 'Value of the pair.';
comment on column metadata_pairs.request_id is 'requests.id.';

insert into metadata_pairs
  select account_id, name, value, request_id
  from request_inputs cross join lateral jsonb_each_text(metadata) pair (name, value)
  where metadata is not null and value is not null;
alter table metadata_pairs add primary key (account_id, name, value, request_id);
drop index request_inputs_metadata;

-- An import of a snapshot has copied the pairs before their requests, so some may be there already.
create function keep_metadata_pairs() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    delete from metadata_pairs p using jsonb_each_text(old.metadata) pair (name, value)
      where p.account_id = old.account_id and p.name = pair.name and p.value = pair.value
        and p.request_id = old.request_id;
  end if;
  insert into metadata_pairs
    select new.account_id, name, value, new.request_id
    from jsonb_each_text(new.metadata) pair (name, value) where value is not null
    on conflict do nothing;
  return null;
end $$;
-- Requests without metadata do not call the function.
create trigger metadata_kept after insert on request_inputs for each row
  when (new.metadata is not null) execute function keep_metadata_pairs();
create trigger metadata_changed after update of metadata on request_inputs for each row
  when (new.metadata is distinct from old.metadata) execute function keep_metadata_pairs();
