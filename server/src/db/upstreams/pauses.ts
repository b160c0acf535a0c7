import {
  failuresAfter,
  modelPause,
  upstreamPause,
  withReply,
  type BusyReply,
  type FailureState,
  type StartFailure,
} from '../../core/request/pauses.ts';
import { storableText } from '../../lib/json.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection, type Database } from '../../lib/sql/sql.ts';
import type { UpstreamRefusal } from '../../core/catalog/upstream-key.ts';

/** The failures and the pause of an upstream or of one of its models. */
export interface PauseRecord {
  /** The paused model; empty: the whole upstream. */
  model: string;
  /** True: it was paused before this change. */
  was_paused: boolean;
  paused_seconds: number;
  failures: number;
}

/** A failed start. `pause_seconds`: for a missing model, how long that model is paused. */
export interface FailedStart extends StartFailure {
  message: string;
  why: UpstreamRefusal;
  /** The upstream's own name of the model. */
  model: string;
  /** For `busy`: the limit applies to our whole account at the upstream. */
  account_wide: boolean | undefined;
  /** As `threshold`, for the model alone. */
  model_threshold: number;
}

interface StoredState extends FailureState {
  model: string;
  busy: BusyReply[] | null;
  /** The time of the transaction, in unix seconds. */
  at: number;
}

/**
 * Records a failed start, and pauses the upstream, or only one of its models, as
 * `core/request/pauses.ts` decides. Returns the longest pause that this failure began; if it began
 * none, the longest that goes on (0 seconds if there is none).
 */
export function noteFailure(
  db: Database,
  upstream: string,
  failure: FailedStart,
): Promise<PauseRecord> {
  const { account_id, message, why, model } = failure;
  // A missing model says nothing about the upstream's other models.
  const models = why === 'model' ? [model] : ['', model];
  return db.tx(async (tx) => {
    tx.send(sql`
      insert into upstreams (name, model) select ${upstream}, unnest(${models}::text[])
      order by 2 on conflict do nothing`);
    const stored = await tx.run<StoredState>(sql`
      select model, busy, failures, failed_account,
        extract(epoch from now())::float8 as at,
        extract(epoch from now() - failed_at)::float8 as failed_ago,
        extract(epoch from now() - other_failed_at)::float8 as other_failed_ago,
        greatest(0, extract(epoch from paused_until - now()))::float8 as paused_seconds
      from upstreams where name = ${upstream} and model = any(${models}::text[])
      order by model for update`);
    const changes = stored.map((before) => changeOf(before, failure));
    tx.send(sql`
      update upstreams u set
        failures = d.failures,
        failed_at = now(),
        failed_account = ${account_id}::uuid,
        other_failed_at = now() - d.other_failed_ago * interval '1 s',
        last_error = ${storableText(message.slice(0, 2000))},
        last_error_at = now(),
        last_why = ${why},
        busy = coalesce(d.busy, u.busy),
        paused_until = greatest(u.paused_until,
          now() + nullif(d.paused_seconds, 0) * interval '1 s')
      from ${rowsOf(changes, {
        model: 'text',
        failures: 'int',
        other_failed_ago: 'float8',
        busy: 'json',
        paused_seconds: 'float8',
      })} d
      where u.name = ${upstream} and u.model = d.model`);
    const begins = changes.filter((each) => each.paused_seconds > 0 && !each.was_paused);
    const [longest] = (begins.length > 0 ? begins : changes).toSorted(
      (one, other) => other.paused_seconds - one.paused_seconds,
    );
    const { model: paused, failures, paused_seconds, was_paused } = longest!;
    return { model: paused, failures, paused_seconds, was_paused };
  });
}

function changeOf({ busy, at, ...before }: StoredState, failure: FailedStart) {
  const { account_id, why, account_wide = false, pause_seconds } = failure;
  const { model } = before;
  const isWhole = model === '';
  let pause = isWhole || why === 'model' ? pause_seconds : 0;
  let replies = null;
  if (why === 'busy') {
    replies = withReply(busy ?? [], { model: failure.model, account_id, at });
    pause = isWhole
      ? upstreamPause(replies, pause_seconds, account_wide)
      : modelPause(replies, pause_seconds);
  }
  const threshold = isWhole ? failure.threshold : failure.model_threshold;
  return {
    model,
    was_paused: before.paused_seconds > 0,
    busy: replies && JSON.stringify(replies),
    ...failuresAfter(before, { ...failure, pause_seconds: pause, threshold }),
  };
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

/** Records a refused poll as the newest error. The poll does not count as a failed start. */
export async function noteRefusedPoll(
  db: Connection,
  upstream: string,
  { message, why }: { message: string; why: UpstreamRefusal },
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

/** Notes that the upstream accepts our key: clears refusals of the key, and ends their pauses. */
export async function noteKeyTaken(db: Connection, upstream: string): Promise<void> {
  await db.run(sql`
    update upstreams set last_why = null, failures = 0, paused_until = null
    where name = ${upstream} and last_why = 'credential'`);
}

/**
 * Ends the pauses of an upstream and its keys, for all models or for one. Returns true if any of
 * these pauses had not ended yet.
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
