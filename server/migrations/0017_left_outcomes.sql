-- A start that was left for the next route has an unknown outcome of its own, which is listed, counted and resolved.

alter table resolutions
  add column attempt integer not null default 0 check (attempt >= 0),
  drop constraint resolutions_pkey,
  add primary key (request_id, attempt);
comment on column resolutions.request_id is 'requests.id.';
comment on column resolutions.attempt is 'attempts.attempt of a start that was left for the next route; 0: how the request itself ended. Resolved once.';
comment on column resolutions.cost_usd_micro is 'What it took from the operator; booked into request_results, or into attempts where a start was left.';

alter table attempts
  add constraint only_a_left_start_has_its_own_cost check (cost_usd_micro is null or left_at is not null);
-- Few are left: this costs the others nothing.
create index attempts_left_time on attempts (left_at) where left_at is not null;
create index attempts_in_doubt on attempts (request_id, attempt) include (upstream, left_at)
  where left_at is not null and cost_usd_micro is null;

-- The sums of a day count them too, at the upstream that was left, without a request of their own.
alter table revenue drop constraint uncosted_have_ended,
  add constraint uncosted_are_counted check (uncosted >= 0);
comment on column revenue.upstream is 'Where they ended, or where a start was left.';
comment on column revenue.cost_usd_micro is 'Sum of what upstreams took, of failed ones and of left starts too.';
comment on column revenue.uncosted is 'How many ran, or may have, at a cost that nobody knows; left starts among them.';
comment on column spending.cost_usd_micro is 'Sum of what upstreams took, of failed ones and of left starts too.';

-- Days that are summed up already have not counted them.
insert into revenue (day, kind, model_id, upstream, completed, failed, charged_usd_micro, cost_usd_micro, uncosted)
select d.day, r.kind, r.model_id, a.upstream, 0, 0, 0, 0, count(*)
from attempts a join requests r on r.id = a.request_id
  join revenue_days d on d.day = (a.left_at at time zone 'utc')::date
where a.left_at is not null group by 1, 2, 3, 4
on conflict (day, kind, model_id, upstream) do update set uncosted = revenue.uncosted + excluded.uncosted;
insert into spending (day, account_id, completed, failed, charged_usd_micro, cost_usd_micro)
select distinct d.day, r.account_id, 0, 0, 0, 0
from attempts a join requests r on r.id = a.request_id
  join revenue_days d on d.day = (a.left_at at time zone 'utc')::date
where a.left_at is not null
on conflict (day, account_id) do nothing;
