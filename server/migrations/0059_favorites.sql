-- People mark what they like in the library of their account, and find it on every device.

create table favorites (
  account_id uuid not null,
  request_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (account_id, request_id)
);
comment on table favorites is 'Requests that people of an account marked in its library; one goes when the input of its request is deleted.';
comment on column favorites.account_id is 'requests.account_id.';
comment on column favorites.request_id is 'requests.id.';
comment on column favorites.created_at is 'Database clock.';
