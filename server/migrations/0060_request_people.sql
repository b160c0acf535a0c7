-- Usage by person: what people make in the studio all counts against one key.

alter table requests add column person_id uuid;
comment on column requests.person_id is 'people.id of the person who was signed in, who may be gone by now; null: a program with a key, or a request before this column.';
create index requests_person on requests (account_id, person_id, id) where person_id is not null;
