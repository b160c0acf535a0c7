-- A failure's cause that is more precise than its code.

alter table request_results
  add column error_details json check (length(error_details::text) <= 1000);
comment on column request_results.error_details is 'Public: a reason more precise than requests.error_code, and its values.';
