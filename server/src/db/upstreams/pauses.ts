import { modelPause, upstreamPause, withReply, type BusyReply } from '../../core/request/busy.ts';
import { storableText } from '../../lib/json.ts';
import { rowsOf, sql, type Connection, type Database } from '../../lib/sql/sql.ts';
import type { Refusal } from '../../core/catalog/upstream-key.ts';

/** The pause that a failed start has begun, or else the longest one. */
export interface PauseRecord {
  /** The paused model; empty: the whole upstream. */
  model: string;
  /** It was paused before this failure. */
  was_paused: boolean;
  paused_seconds: number;
  failures: number;
}

export interface Failure {
  account_id: string;
  message: string;
  why: Refusal;
  /** The upstream's own name of the model. */
  model: string;
  /**
   * How long the upstream asks not to be called. For a model that the upstream does not have: how
   * long that model is paused.
   */
  pause_seconds: number;
  /** False: the pause begins only after starts of two accounts have failed. */
  pauses_at_once: boolean;
  /** For `busy`: the limit applies to our whole account at the upstream. */
  account_wide: boolean | undefined;
  /** The caller's input cannot be the cause, so failures of a single account count too. */
  counts_alone: boolean;
  /** Failures in succession that pause the upstream, and that pause the model. */
  threshold: number;
  model_threshold: number;
  failure_pause_seconds: number;
}

/** Failures older than this are ignored. */
const failureCountsSeconds = 600;

/**
 * Records a failed start. After `threshold` failures in succession, or if the upstream asks for it,
 * the upstream is paused, or only one of its models. Failures of a single account never pause
 * anything for others (its inputs may be the cause), unless `counts_alone` is set. Pauses of busy
 * upstreams follow `busy.ts`. Returns the newly paused entry, or else the one paused longest.
 */
export function noteFailure(
  db: Database,
  upstream: string,
  failure: Failure,
): Promise<PauseRecord> {
  const { why, model, pause_seconds } = failure;
  // A missing model says nothing about the upstream's other models.
  if (why === 'model')
    return writeFailure(db, upstream, failure, [{ model, pause: pause_seconds, busy: null }]);
  if (why !== 'busy') {
    const whole = { model: '', pause: pause_seconds, busy: null };
    return writeFailure(db, upstream, failure, [whole, { model, pause: 0, busy: null }]);
  }
  return db.tx(async (tx) => {
    tx.send(sql`
      insert into upstreams (name, model) select ${upstream}, unnest(${['', model]}::text[])
      order by 2 on conflict do nothing`);
    const rows = await tx.run<{ busy: BusyReply[] | null; at: number }>(sql`
      select busy, extract(epoch from now())::float8 as at from upstreams
      where name = ${upstream} and model in ('', ${model}) order by model for update`);
    const { account_id, account_wide = false } = failure;
    const [whole = [], own = []] = rows.map(({ busy, at }) =>
      withReply(busy ?? [], { model, account_id, at }),
    );
    return writeFailure(tx, upstream, failure, [
      { model: '', pause: upstreamPause(whole, pause_seconds, account_wide), busy: whole },
      { model, pause: modelPause(own, pause_seconds), busy: own },
    ]);
  });
}

/** The changes that a failure makes to an upstream, or to one model of it. */
interface Change {
  model: string;
  pause: number;
  busy: BusyReply[] | null;
}

async function writeFailure(
  db: Connection,
  upstream: string,
  failure: Failure,
  changes: Change[],
): Promise<PauseRecord> {
  const changed = changes.map(({ model, pause, busy }) => ({
    model,
    pause,
    threshold: model === '' ? failure.threshold : failure.model_threshold,
    busy: busy === null ? null : JSON.stringify(busy),
  }));
  const rows = await db.run<PauseRecord>(sql`
    with d as (
      select *, now() - ${failureCountsSeconds} * interval '1 s' as since
      from ${rowsOf(changed, { model: 'text', pause: 'float8', threshold: 'int', busy: 'json' })} d
    ), before as (
      select model, paused_until > now() as was_paused from upstreams where name = ${upstream}
    ), noted as (
      insert into upstreams as u
        (name, model, failures, failed_at, failed_account, last_error, last_error_at, last_why,
          busy, paused_until)
      select ${upstream}, model, 1, now(), ${failure.account_id}::uuid,
        ${storableText(failure.message.slice(0, 2000))}, now(), ${failure.why}::text, busy,
        case when ${failure.pauses_at_once} then now() + nullif(pause, 0) * interval '1 s' end
      from d order by model
      on conflict (name, model) do update set
        failures = 1 + case when u.failed_at > (select max(since) from d)
          then u.failures else 0 end,
        failed_at = now(), failed_account = excluded.failed_account,
        other_failed_at = case when u.failed_account <> excluded.failed_account then u.failed_at
          else u.other_failed_at end,
        last_error = excluded.last_error, last_error_at = excluded.last_error_at,
        last_why = excluded.last_why, busy = coalesce(excluded.busy, u.busy),
        paused_until = greatest(u.paused_until, excluded.paused_until,
          case when
            ${failure.counts_alone} -- guard: old-failure-forgotten (off: true)
            or (select max(since) from d) <
            case when u.failed_account <> excluded.failed_account then u.failed_at
              else u.other_failed_at end
          then greatest(
            now() + (select nullif(pause, 0) from d where d.model = u.model) * interval '1 s',
            case when (select threshold from d where d.model = u.model)
                <= 1 + case when u.failed_at > (select max(since) from d) then u.failures else 0 end
              then now() + ${failure.failure_pause_seconds}::float8 * interval '1 s' end) end)
      returning model, failures, paused_until
    )
    select n.model, coalesce(b.was_paused, false) as was_paused, n.failures,
      greatest(0, extract(epoch from n.paused_until - now()))::float8 as paused_seconds
    from noted n left join before b using (model)
    order by n.paused_until > now() and not coalesce(b.was_paused, false) desc nulls last,
      n.paused_until desc nulls last, n.model`);
  return rows[0]!;
}

/**
 * If every key of an upstream is paused (as a whole or for this model), pauses the upstream (or the
 * model) until the first of those pauses ends. `keys`: names under which the keys' pauses are
 * stored. Returns what was paused: the model, or '' for the whole upstream.
 */
export function pauseWithKeys(
  db: Connection,
  upstream: string,
  model: string,
  keys: readonly string[],
): Promise<PauseRecord[]> {
  return db.run<PauseRecord>(sql`
    with d as (
      select m.model, min(p.until) as until
      from unnest(${['', model]}::text[]) as m (model)
      cross join unnest(${keys}::text[]) as k (name)
      left join lateral (
        select max(paused_until) as until from upstreams
        where name = k.name and model in ('', m.model) and paused_until > now()
      ) p on true
      group by m.model having count(p.until) = count(*)
    ), before as (
      select model, paused_until > now() as was_paused from upstreams where name = ${upstream}
    ), noted as (
      insert into upstreams as u (name, model, failed_at, paused_until)
      select ${upstream}, model, now(), until from d
      where model = '' or until is distinct from (select until from d where model = '')
      order by model
      on conflict (name, model) do update set failed_at = now(),
        paused_until = greatest(u.paused_until, excluded.paused_until)
      returning model, failures, paused_until
    )
    select n.model, coalesce(b.was_paused, false) as was_paused, n.failures,
      extract(epoch from n.paused_until - now())::float8 as paused_seconds
    from noted n left join before b using (model) order by n.model`);
}

/** Records a refused poll as the newest problem; it does not count as a failed start. */
export async function noteRefusedPoll(
  db: Connection,
  upstream: string,
  { message, why }: { message: string; why: Refusal },
): Promise<void> {
  await db.run(sql`
    insert into upstreams (name, last_error, last_error_at, last_why)
    values (${upstream}, ${storableText(message.slice(0, 2000))}, now(), ${why})
    on conflict (name, model) do update set last_error = excluded.last_error,
      last_error_at = excluded.last_error_at, last_why = excluded.last_why`);
}

/**
 * Notes that a start made `seconds` ago has succeeded: the upstream and this model are healthy
 * again. A pause that began after that start goes on, because the start says nothing about it.
 * Returns what was paused and is healthy now.
 */
export function noteSuccess(
  db: Connection,
  upstream: string,
  model: string,
  seconds = 0,
): Promise<{ model: string }[]> {
  return db.run<{ model: string }>(sql`
    with d as (
      select model, paused_until is not null as was_paused,
        coalesce(
          failed_at <= now() - ${seconds}::float8 * interval '1 s', -- guard: pause-stays
          true) as is_over
      from upstreams where name = ${upstream} and model in ('', ${model})
        and (failures > 0 or paused_until is not null or last_why is not null)
      order by model for update
    ), well as (
      update upstreams u set failures = 0, failed_account = null, other_failed_at = null,
        busy = case when not d.is_over then u.busy end,
        last_why = case when not d.is_over then u.last_why end,
        paused_until = case when not d.is_over then u.paused_until end
      from d where u.name = ${upstream} and u.model = d.model
        and (u.failures > 0 or d.is_over)
    )
    select model from d where was_paused and is_over order by model`);
}

/** The upstream accepts our key, so earlier refusals of the key are cleared. */
export async function noteKeyTaken(db: Connection, upstream: string): Promise<void> {
  await db.run(sql`
    update upstreams set last_why = null, failures = 0, paused_until = null
    where name = ${upstream} and last_why = 'credential'`);
}

/**
 * Ends the pauses of an upstream and its keys, for all models or for one. Returns true if it was
 * paused.
 */
export async function endPause(
  db: Connection,
  upstream: string,
  model: string | null,
): Promise<boolean> {
  const keys = `${upstream}#`;
  const rows = await db.run<{ was_paused: boolean }>(sql`
    with before as (
      select name, model, paused_until > now() as was_paused from upstreams
      where (name = ${upstream} or starts_with(name, ${keys}))
        and (${model}::text is null or model = ${model}) for update
    ), woken as (
      update upstreams u set failures = 0, failed_account = null, other_failed_at = null,
        busy = null, last_why = null, paused_until = null
      from before b where u.name = b.name and u.model = b.model
    )
    select coalesce(bool_or(was_paused), false) as was_paused from before`);
  return rows[0]!.was_paused;
}
