-- The numbers of the call that made a request, so that either leads to the request.

alter table request_inputs
  add column numbered boolean check (numbered),
  add column caller_id text check (caller_id ~ '^[!-~]{1,128}$');
-- Requests without a number of the caller are not in it, so their insert writes nothing more. All of
-- one number come by account, newest first, because a caller may send the same number with every call.
create index request_inputs_caller on request_inputs (caller_id, account_id, request_id) where caller_id is not null;
comment on column request_inputs.numbered is 'True: the number of the call that made it is req_ and the id of the request. Null: it was made before calls had such numbers.';
comment on column request_inputs.caller_id is 'The caller''s own number of the call: its x-request-id or the trace id of its traceparent; null: it sent none.';
