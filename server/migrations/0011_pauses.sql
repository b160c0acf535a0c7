-- A pause is of the model that was asked, and of the whole upstream only once more than one model or account was told so.

alter table upstreams add column busy json check (length(busy::text) <= 20000);
comment on column upstreams.busy is 'The newest calls that were told that it is busy, since the last that went well: [{model, account_id, at}].';
