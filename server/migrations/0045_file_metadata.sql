-- Callers of Replicate's API give files data of their own, and get it back with them.

alter table files add column metadata json
  check (json_typeof(metadata) = 'object' and octet_length(metadata::text) <= 4096);
comment on column files.metadata is 'As the caller sent it; null: nothing.';
