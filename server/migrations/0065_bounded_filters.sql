-- A page of an account's requests of one model, or of one key, reads about as many rows as it shows. Open requests are
-- not in these indexes: the steps of a request would all write there.

create index concurrently requests_account_model on requests (account_id, model_id, id) where completed_at is not null;
create index concurrently requests_account_key on requests (account_id, key_id, id) where completed_at is not null;
