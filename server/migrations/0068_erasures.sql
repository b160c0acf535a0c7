-- Requests whose content is to be deleted because a person was erased. Names and addresses are deleted at once; what was
-- asked and answered may be much, so the worker deletes it in parts.

create table erasures (
  id         uuid primary key,
  person_id  uuid not null,
  account_id uuid not null references accounts (id),
  is_closed  boolean not null,
  after_id   uuid,
  created_at timestamptz not null default now(),
  ended_at   timestamptz
);
create index erasures_open on erasures (id) where ended_at is null;
comment on table erasures is 'Content that is to be deleted after a person was erased, for each account in which they worked.';
comment on column erasures.id is 'UUIDv7.';
comment on column erasures.person_id is 'people.id of the person, who is gone.';
comment on column erasures.account_id is 'accounts.id.';
comment on column erasures.is_closed is 'The account was closed with them, so all its requests lose their content; otherwise those that the person sent.';
comment on column erasures.after_id is 'The content of requests up to this id is deleted; null: of none yet.';
comment on column erasures.created_at is 'Database clock.';
comment on column erasures.ended_at is 'When all was deleted; null: not yet.';
