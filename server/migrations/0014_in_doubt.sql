-- Requests of unknown outcome are found, counted and resolved by upstream, however many there were before.

alter table request_results add column doubt_upstream text;
comment on column request_results.doubt_upstream is 'Where it may have run at a cost that was not known at its end; null: nowhere. While cost_usd_micro is null nobody knows.';
update request_results s set doubt_upstream = r.upstream from requests r
  where r.id = s.request_id and r.error_code in ('outcome_unknown', 'timeout');
create index request_results_in_doubt on request_results (request_id) include (doubt_upstream)
  where doubt_upstream is not null and cost_usd_micro is null;

-- Callers list their requests by state. Most end as COMPLETED, which any page of the list has. On a database where
-- nobody may wait for it, make it before, with "create index concurrently" and the same words.
create index if not exists requests_account_status on requests (account_id, status, id)
  where status <> 'COMPLETED';
