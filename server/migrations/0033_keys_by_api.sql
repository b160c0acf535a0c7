-- An operator can stop the keys that manage keys of one account without suspending it.

alter table accounts add column keys_by_api boolean not null default true;
comment on column accounts.keys_by_api is 'Whether its keys of scope keys work and its people may make such keys.';
