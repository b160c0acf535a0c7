-- Operator keys may change what is sold, and at which upstreams.

alter table operator_keys
  drop constraint known_scopes,
  add constraint known_scopes
    check (scopes <@ array['read', 'accounts', 'keys', 'money', 'catalog']);
