-- Token counts of chats, which stay when the reply is deleted, and an account's requests by the time of their end.

alter table request_results
  add column input_tokens integer check (input_tokens >= 0),
  add column output_tokens integer check (output_tokens >= 0),
  add column cached_tokens integer check (cached_tokens between 0 and input_tokens),
  add column reasoning_tokens integer check (reasoning_tokens between 0 and output_tokens),
  add constraint tokens_are_counted_together
    check (num_nulls(input_tokens, output_tokens, cached_tokens, reasoning_tokens) in (0, 4));
comment on column request_results.input_tokens is 'Of a completed chat: the tokens read, as charged. Null: another request, or its usage was deleted before this column came.';
comment on column request_results.output_tokens is 'The tokens written, as charged.';
comment on column request_results.cached_tokens is 'The part of input_tokens that the upstream read from its cache; 0 if it named none.';
comment on column request_results.reasoning_tokens is 'The part of output_tokens that was reasoning; 0 if the upstream named none.';

-- The details of a usage are the upstream's own; what is not a number counts as none.
update request_results s
set input_tokens = t.input, output_tokens = t.output, cached_tokens = least(coalesce(t.cached, 0), t.input),
  reasoning_tokens = least(coalesce(t.reasoning, 0), t.output)
from (
  select o.request_id,
    jsonb_path_query_first(o.output::jsonb, '$.usage.prompt_tokens ? (@ >= 0 && @ <= 2147483647)')::integer as input,
    jsonb_path_query_first(o.output::jsonb, '$.usage.completion_tokens ? (@ >= 0 && @ <= 2147483647)')::integer as output,
    jsonb_path_query_first(o.output::jsonb, '$.usage.prompt_tokens_details.cached_tokens ? (@ >= 0 && @ <= 2147483647)')::integer as cached,
    jsonb_path_query_first(o.output::jsonb, '$.usage.completion_tokens_details.reasoning_tokens ? (@ >= 0 && @ <= 2147483647)')::integer as reasoning
  from request_results o join requests r on r.id = o.request_id
  where r.kind = 'text' and o.output is not null
) t
where s.request_id = t.request_id and t.input is not null and t.output is not null;

-- On a database where nobody may wait for it, make it before, with "create index concurrently" and the same words.
create index if not exists request_results_account_time on request_results (account_id, created_at);
