-- Operators switch upstreams off, let them drain, and set their keys.

create table upstream_controls (
  name text primary key check (name <> ''),
  state text not null default 'on' check (state in ('on', 'draining', 'off')),
  sealed_key text,
  sealed_with text,
  key_tails text[],
  changed_at timestamptz not null default now(),
  changed_by text not null check (changed_by <> ''),
  constraint controls_whole_key check (num_nulls(sealed_key, sealed_with, key_tails) in (0, 3))
);
comment on table upstream_controls is 'What an operator has set about an upstream, in place of its definition.';
comment on column upstream_controls.state is 'draining: nothing new starts there. off: it is not called at all.';
comment on column upstream_controls.sealed_key is 'The key, or several with spaces between them, encrypted with a signing secret; null: the variable that the definition names counts.';
comment on column upstream_controls.sealed_with is 'The fingerprint of that secret.';
comment on column upstream_controls.key_tails is 'The last characters of each key, for people.';
