-- Lists show what a request asked for, and the library searches in it, without reading the input, which may be large.

alter table request_inputs add column prompt text check (length(prompt) <= 501);
comment on column request_inputs.prompt is 'The input of a job in one line; null: of a chat, or deleted with the input.';

-- Inputs that are deleted, or too large to be read for this, get none.
update request_inputs i set prompt = left(regexp_replace(
    case when json_typeof(input -> 'prompt') = 'string' then input ->> 'prompt' else '' end, '\s+', ' ', 'g'), 500)
  from requests r
  where r.id = i.request_id and r.kind <> 'text' and r.cleared_at is null and pg_column_size(i.input) < 65536;

-- Chats are not in it. A search reads the prompts of one account, newest first, from the index alone.
create index request_inputs_prompts on request_inputs (account_id, request_id) include (prompt) where prompt is not null;
