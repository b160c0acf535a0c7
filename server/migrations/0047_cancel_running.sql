-- Callers may cancel a running job, which its upstream is asked to stop; it ends CANCELLED, perhaps with a charge.

alter table requests
  add column cancel_requested_at timestamptz,
  add column on_cancel text check (on_cancel in ('free', 'upstream', 'full')),
  drop constraint failure_is_free,
  drop constraint queued_not_started;
alter table requests
  add constraint failure_is_free check (status <> 'FAILED' or charged_usd_micro = 0),
  add constraint queued_not_started check (status <> 'IN_QUEUE' or started_at is null),
  add constraint cancel_has_rule check ((cancel_requested_at is null) = (on_cancel is null)),
  -- What waits is cancelled at once; what runs ends as cancelled only if somebody asked for it.
  add constraint started_is_cancelled_on_request check (cancel_requested_at is null or started_at is not null),
  add constraint cancelled_on_request check (status <> 'CANCELLED' or started_at is null or cancel_requested_at is not null),
  add constraint cancel_costs_by_rule check (status <> 'CANCELLED' or charged_usd_micro = 0
    or (on_cancel is not null and (on_cancel = 'upstream' or on_cancel = 'full' and charged_usd_micro = quoted_usd_micro)));
comment on column requests.cancel_requested_at is 'When its caller first asked to stop it while it ran; null: never.';
comment on column requests.on_cancel is 'The charge of such an end, as its catalog row said at that moment.';

alter table attempts add column stop text check (stop in ('asked', 'taken'));
comment on column attempts.stop is 'Whether its upstream is asked to stop the job: asked is committed before the call, taken once it answered. Null: not asked.';
