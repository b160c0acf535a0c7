-- A search in the refused calls of all accounts reads about as many rows as it shows.

create index refused_calls_code on refused_calls (code, id);
create index refused_calls_key on refused_calls (key_id, id);
create index refused_calls_model on refused_calls (model_id, id) where model_id is not null;
