-- Keys that manage the other keys of their account, for platforms that make a key for each customer of their own.

alter table keys
  add column scope text not null default 'spend' check (scope in ('spend', 'keys')),
  add column created_by uuid,
  -- The studio key runs models for the people of the account.
  add constraint studio_key_spends check (scope = 'spend' or not is_studio),
  -- A key that manages keys cannot make another one that does.
  add constraint managers_are_made_by_people check (scope = 'spend' or created_by is null);
comment on column keys.scope is 'spend: runs models and reads what the account has. keys: makes, changes and revokes the keys of scope spend.';
comment on column keys.created_by is 'keys.id of the key that made it; null: a person or an operator.';
