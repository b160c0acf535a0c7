-- An upstream may be called with several keys, each with pauses of its own.

alter table attempts add column key text check (key ~ '^[0-9a-f]{8}$');
comment on column attempts.key is 'Which of several keys the upstream was called with: the first digits of its SHA-256. Null: it had one, or none. Whatever is asked of this start later is asked with the same.';
comment on column upstreams.name is 'As in the catalog; of one of several keys of an upstream, name#key.';
