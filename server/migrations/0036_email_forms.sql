-- An address is unique by its form: NFKC, lower case, the domain as punycode. New addresses are
-- stored in it. Earlier ones stay as they are; the migration sets the form of those that differ
-- from it and clash with nobody.
alter table people add column email_form text check (email_form <> email);
alter table accounts add column email_form text check (email_form <> email);
create unique index people_email_form on people ((coalesce(email_form, email)));
create unique index accounts_email_form on accounts ((coalesce(email_form, email)));
comment on column people.email_form is 'The form of an address that an earlier version has stored otherwise; null: email is this form, has none, or clashes with another person.';
comment on column accounts.email_form is 'As people.email_form.';
