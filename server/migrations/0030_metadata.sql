-- Pairs of texts that callers give their requests, to find them and to add up what they cost.

alter table request_inputs
  add column metadata jsonb check (jsonb_typeof(metadata) = 'object'
    and jsonb_array_length(jsonb_path_query_array(metadata, '$.keyvalue()')) between 1 and 16);
-- Requests without metadata are not in it, so their insert writes nothing more.
create index request_inputs_metadata on request_inputs using gin (metadata jsonb_path_ops) where metadata is not null;
comment on column request_inputs.metadata is 'The caller''s own pairs of texts, kept when the input is cleared; null: none. No upstream gets them.';
