-- A job's steps go on with the trace of the call that submitted it, in whichever process they run.

alter table request_inputs add column traceparent text;
alter table request_inputs add constraint request_inputs_traceparent_check check (length(traceparent) = 55) not valid;
alter table request_inputs validate constraint request_inputs_traceparent_check;
comment on column request_inputs.traceparent is 'The span of the submit, in the form of W3C Trace Context; null: traces are off, this one is not recorded, or the request is a chat.';
