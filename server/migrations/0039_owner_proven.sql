-- A stranger may sign up with an address, and its owner may prove it later, in another browser.
alter table people add column owner_proven boolean not null default false,
  add constraint owner_proven_with_email check (email_verified or not owner_proven);
-- Until now nobody noted who had proven an address.
update people set owner_proven = email_verified where email_verified;
comment on column people.email_verified is 'Someone who reads mail to the address, or vouches for it, has confirmed it.';
comment on column people.owner_proven is 'That was someone who signs in as this person: nobody else has made or changed what they own.';
