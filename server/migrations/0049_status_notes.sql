-- Customers read why a model is stopped.

alter table stopped_models add column status_note text check (status_note <> '');
comment on column stopped_models.status_note is
  'The operator''s words to customers; null: none. The reason for operators is in the log.';
