-- A job that ran out of time at its upstream may have cost something: it is one of unknown outcome until that is known.

drop index requests_unknown;
-- Few end so: this costs the others nothing.
create index requests_unknown on requests (id) where error_code in ('outcome_unknown', 'timeout');

-- What no upstream took has cost nothing. Of a start that is no longer kept nothing can be found out: it counts as 0, as it did.
update request_results s set cost_usd_micro = 0 from requests r
  where r.id = s.request_id and r.error_code = 'timeout' and s.cost_usd_micro is null
    and not exists (select from attempts a where a.request_id = r.id and a.handle is not null);

alter table revenue drop constraint revenue_check,
  add constraint uncosted_have_ended check (uncosted between 0 and completed + failed);
comment on column revenue.uncosted is 'How many ran, or may have, at a cost that nobody knows.';

-- Days that are summed up already have not counted them.
update revenue v set uncosted = v.uncosted + d.uncosted from (
  select (s.created_at at time zone 'utc')::date as day, r.kind, r.model_id, r.upstream, count(*) as uncosted
  from requests r join request_results s on s.request_id = r.id and s.cost_usd_micro is null
  where r.error_code in ('outcome_unknown', 'timeout') group by 1, 2, 3, 4
) d where v.day = d.day and v.kind = d.kind and v.model_id = d.model_id and v.upstream = d.upstream;
