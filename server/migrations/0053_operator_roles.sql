-- Until now only owners of an operator's account could use the console, with every right.

alter table members add column operator_role text
  constraint operator_role_known check (operator_role in ('support', 'read_only')),
  add constraint owners_are_operators check (operator_role is null or role <> 'owner');
alter table invitations add column operator_role text
  constraint operator_role_known check (operator_role in ('support', 'read_only')),
  add constraint owners_are_operators check (operator_role is null or role <> 'owner'),
  add constraint operators_join_accounts check (operator_role is null or account_id is not null);

comment on column members.operator_role is 'Rights on the console, of people of an operator''s account who are not its owners; owners have all rights; null: none.';
comment on column invitations.operator_role is 'As in members, for the person who accepts.';
