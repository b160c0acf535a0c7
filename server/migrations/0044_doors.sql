-- A request that came in through another service's API is told about in that form.

alter table request_inputs add column door json;
comment on column request_inputs.door is 'The API of another service that its webhook speaks, with the names that its caller asked for; null: our own.';
