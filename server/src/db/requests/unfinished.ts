import { stepFor, type DueRequest, type Step } from '../../core/request/request.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Open requests of an upstream that have the same next step. */
export interface UnfinishedJobs {
  does: Step;
  upstream: string;
  jobs: number;
  reserved_usd_micro: bigint;
}

/** All steps that workers would do if everything were due at once. */
export interface UnfinishedWork {
  work: UnfinishedJobs[];
  /** Requests that have ended and whose notification is not yet sent. */
  to_notify: number;
  /** Open requests that will send a notification at their end. */
  to_notify_later: number;
  /** Events to the operator that are not sent yet. */
  events_to_send: number;
}

interface Group extends Omit<UnfinishedJobs, 'does'> {
  status: 'IN_QUEUE' | 'IN_PROGRESS';
  kind: DueRequest['kind'];
  past_deadline: boolean;
  is_started: boolean;
  has_handle: boolean;
  outcome: NonNullable<DueRequest['started']>['outcome'];
  left: boolean;
  cancel_asked: boolean;
  to_notify_later: number;
}

export async function readUnfinished(db: Connection): Promise<UnfinishedWork> {
  const groups = await db.run<Group>(sql`
    select r.status, r.kind, coalesce(r.deadline_at <= now(), false) as past_deadline,
      a.attempt is not null as is_started, a.handle is not null as has_handle, a.outcome,
      a.left_at is not null as left, r.cancel_requested_at is not null as cancel_asked,
      r.upstream, count(*)::int as jobs,
      sum(r.quoted_usd_micro)::bigint as reserved_usd_micro,
      (count(*) filter (where r.webhook_state = 'pending'))::int as to_notify_later
    from requests r left join lateral (
      select attempt, handle, outcome, left_at from attempts
      where request_id = r.id order by attempt desc limit 1
    ) a on true
    where r.status in ('IN_QUEUE', 'IN_PROGRESS')
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9`);
  const [ended] = await db.run<{ to_notify: number; events_to_send: number }>(sql`
    select count(*)::int as to_notify, (
      select count(*)::int from operator_events where wake_at is not null or letter_due
    ) as events_to_send from requests
    where status not in ('IN_QUEUE', 'IN_PROGRESS') and webhook_state = 'pending'`);
  const work = new Map<string, UnfinishedJobs>();
  for (const { upstream, jobs, reserved_usd_micro, ...group } of groups) {
    const { is_started, has_handle, outcome, left } = group;
    const started = is_started ? { has_handle, outcome, left } : null;
    const does = stepFor({ ...group, started, webhook_state: null, outputs_due: false });
    const name = JSON.stringify([upstream, does]);
    const of = work.get(name);
    work.set(name, {
      does,
      upstream,
      jobs: jobs + (of?.jobs ?? 0),
      reserved_usd_micro: reserved_usd_micro + (of?.reserved_usd_micro ?? 0n),
    });
  }
  const to_notify_later = groups.reduce((sum, each) => sum + each.to_notify_later, 0);
  const sorted = [...work].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { work: sorted.map(([, each]) => each), ...ended!, to_notify_later };
}

/** The same work after all open requests were released. */
export function afterRelease({ to_notify_later, ...left }: UnfinishedWork): UnfinishedWork {
  return { ...left, work: [], to_notify: left.to_notify + to_notify_later, to_notify_later: 0 };
}

/** The number of requests, and the amount reserved for them. */
export function sumOf({ work }: UnfinishedWork): { requests: number; reserved_usd_micro: bigint } {
  return {
    requests: work.reduce((sum, { jobs }) => sum + jobs, 0),
    reserved_usd_micro: work.reduce((sum, each) => sum + each.reserved_usd_micro, 0n),
  };
}
