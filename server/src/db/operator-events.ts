import {
  needsLetter,
  type EventType,
  type NewEvent,
  type StoredEvent,
} from '../core/operator-event.ts';
import { lastId, newId } from '../lib/id.ts';
import { storableJson } from '../lib/json.ts';
import { rowsOf } from '../lib/sql/rows-of.ts';
import { fragment, sql, type Connection, type Database, type Transaction } from '../lib/sql/sql.ts';

/** Events to the operator, and how they reach the operator. */

export type Channel = 'webhook' | 'letters';

/** A delivery that fails after this time is not tried again. */
const giveUpDays = 3;
/** Any number will do, as long as every version of the service uses the same one. */
const subjectLock = 770_219_027;

/**
 * Records that this process runs with these channels. Events are written only for channels that
 * were recorded within the last day.
 */
export async function noteChannels(db: Connection, channels: Channel[]): Promise<void> {
  await db.run(sql`
    insert into operator_channels (channel) select unnest(${channels}::text[])
    on conflict (channel) do update set
      began_at = case when operator_channels.seen_at < now() - interval '1 day'
        then now() else operator_channels.began_at end,
      seen_at = now()`);
}

/** Writes the events that some channel delivers, in this order. */
export async function addMany(db: Connection, events: readonly NewEvent[]): Promise<void> {
  if (events.length > 0) await insert(db, events, null);
}

async function insert(
  db: Connection,
  events: readonly NewEvent[],
  subject: string | null,
): Promise<void> {
  const rows = events.map(({ type, account_id, data }, n) => ({
    n,
    id: newId(),
    type,
    account_id,
    data: storableJson(data),
    letter: needsLetter(type),
  }));
  await db.run(sql`
    insert into operator_events (id, type, account_id, subject, data, wake_at, give_up_at,
      letter_due)
    select e.id, e.type, e.account_id, ${subject}::text, e.data,
      case when c.webhook then now() end, now() + ${giveUpDays} * interval '1 day',
      c.letters and e.letter
    from ${rowsOf(rows, {
      n: 'int',
      id: 'uuid',
      type: 'text',
      account_id: 'uuid',
      data: 'json',
      letter: 'bool',
    })} as e, (
      select coalesce(bool_or(channel = 'webhook'), false) as webhook,
        coalesce(bool_or(channel = 'letters'), false) as letters
      from operator_channels where seen_at > now() - interval '1 day'
    ) c
    where c.webhook or c.letters and e.letter
    order by e.n`);
}

/**
 * Writes an event, unless any process wrote an event of this type and subject in the last
 * `quietSeconds`.
 */
export async function addOnce(
  db: Database,
  event: NewEvent,
  subject: string,
  quietSeconds: number,
): Promise<void> {
  await db.tx(async (tx) => {
    await lockSubjects(tx);
    const said = await tx.run(sql`
      select from operator_events where type = ${event.type} and subject = ${subject}
        and created_at > now() - ${quietSeconds}::float8 * interval '1 s' limit 1`);
    if (said.length === 0) await insert(tx, [event], subject);
  });
}

/**
 * Waits for other transactions that hold this lock. A separate statement, so that later statements
 * see what those transactions committed.
 */
export async function lockSubjects(tx: Transaction): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(${subjectLock})`);
}

const columns = fragment('e.id, e.type, e.account_id, e.data, e.created_at');

/**
 * The period whose unknown outcomes no event has named yet. Null if an event named outcomes within
 * the last `bundleSeconds`, or if no channel is in use. The newest 30 seconds are left out, because
 * their transactions may not have ended.
 */
export async function findUnannounced(
  db: Connection,
  bundleSeconds: number,
): Promise<{ since: Date; until: Date } | null> {
  const [row] = await db.run<{ since: Date; until: Date }>(sql`
    select greatest(c.began_at, e.until) as since, n.until
    from (select now() - interval '30 s' as until) n, (
      select min(began_at) as began_at from operator_channels
      where seen_at > now() - interval '1 day'
    ) c left join lateral (
      select (data ->> 'until')::timestamptz as until from operator_events
      where type = 'outcome.unknown' order by seq desc limit 1
    ) e on true
    where c.began_at is not null
      and (e.until is null or e.until < n.until - ${bundleSeconds}::float8 * interval '1 s')`);
  return row ?? null;
}

/** An event that this process sends now. */
export interface EventClaim extends StoredEvent {
  attempt: number;
  failures: number;
}

/**
 * Claims an event that is due; null if there is none. Events of an account are sent in order, so
 * an event waits until all earlier events of its account were sent or given up.
 */
export async function claimNext(db: Connection, leaseSeconds: number): Promise<EventClaim | null> {
  const [row] = await db.run<EventClaim>(sql`
    update operator_events e set
      wake_at = now() + ${leaseSeconds}::float8 * interval '1 s', attempt = attempt + 1
    from (
      select d.id from operator_events d
      where d.wake_at <= now()
        -- Skips accounts whose first event waits, without a look at their later events.
        and (d.account_id is null or d.account_id not in (
          select account_id from operator_events
          where wake_at > now() and account_id is not null))
        and not exists (
          select from operator_events b
          where b.wake_at is not null and b.seq < d.seq and b.account_id = d.account_id)
      order by d.wake_at limit 1 for update skip locked
    ) due
    where e.id = due.id
    returning ${columns}, e.attempt, e.failures`);
  return row ?? null;
}

type Fence = Pick<EventClaim, 'id' | 'attempt'>;

export async function noteSent(db: Connection, { id, attempt }: Fence, status: number) {
  await db.run(sql`
    update operator_events set wake_at = null, sent_at = now(), failures = 0,
      last_status = ${status}, last_error = null
    where id = ${id} and attempt = ${attempt}`);
}

/** Sets the time of the next attempt. After `give_up_at` the delivery is given up. */
export async function noteFailure(
  db: Connection,
  { id, attempt }: Fence,
  failure: { status: number | null; error: string; wake_seconds: number },
): Promise<void> {
  await db.run(sql`
    update operator_events set failures = failures + 1, last_status = ${failure.status},
      last_error = ${failure.error.slice(0, 500)},
      wake_at = case when give_up_at > now()
        then now() + ${failure.wake_seconds}::float8 * interval '1 s' end
    where id = ${id} and attempt = ${attempt}`);
}

/** Makes an event due again, even if it was sent. Returns false if there is no such event. */
export async function resend(db: Connection, id: string): Promise<boolean> {
  const rows = await db.run(sql`
    update operator_events set wake_at = now(), sent_at = null, failures = 0,
      give_up_at = now() + ${giveUpDays} * interval '1 day'
    where id = ${id} returning id`);
  return rows.length > 0;
}

/** True: this process has to send a letter now; no other process may for `pauseSeconds`. */
export async function claimLetter(db: Connection, pauseSeconds: number): Promise<boolean> {
  const rows = await db.run(sql`
    update operator_channels set attempt = attempt + 1,
      wake_at = now() + ${pauseSeconds}::float8 * interval '1 s'
    where channel = 'letters' and wake_at <= now()
      and exists (select from operator_events where letter_due)
    returning channel`);
  return rows.length > 0;
}

/** The events that a letter is to name, oldest first. */
export function listMailDue(db: Connection, limit: number): Promise<StoredEvent[]> {
  return db.run<StoredEvent>(sql`
    select ${columns} from operator_events e where letter_due order by seq limit ${limit}`);
}

export async function noteLetter(db: Connection, ids: string[]): Promise<void> {
  await db.run(sql`update operator_events set letter_due = false where id = any(${ids}::uuid[])`);
}

/** An event and the state of its delivery to the webhook. */
export interface EventRow extends StoredEvent {
  state: 'waiting' | 'sent' | 'given_up' | 'not_sent';
  sent_at: Date | null;
  wake_at: Date | null;
  failures: number;
  last_status: number | null;
  last_error: string | null;
}

/** Newest first. */
export function list(
  db: Connection,
  page: { type: EventType | null; below_id: string | null; limit: number },
): Promise<EventRow[]> {
  return db.run<EventRow>(sql`
    select ${columns}, e.sent_at, e.wake_at, e.failures, e.last_status, e.last_error,
      case when e.sent_at is not null then 'sent' when e.wake_at is not null then 'waiting'
        when e.last_error is not null then 'given_up' else 'not_sent' end as state
    from operator_events e
    where (${page.type}::text is null or e.type = ${page.type})
      and e.id < ${page.below_id ?? lastId}::uuid
    order by e.id desc limit ${page.limit}`);
}

/** Events that the webhook has not received. */
export interface UnsentEvents {
  waiting: number;
  given_up: number;
  /** When the oldest of these events was written; null if there are none. */
  oldest_at: Date | null;
  /** Why the oldest of these events failed; null if it was not tried yet. */
  last_error: string | null;
}

export async function countUnsent(db: Connection): Promise<UnsentEvents> {
  const [row] = await db.run<UnsentEvents>(sql`
    select (count(*) filter (where wake_at is not null))::int as waiting,
      (count(*) filter (where wake_at is null))::int as given_up,
      min(created_at) as oldest_at,
      (array_agg(last_error order by seq))[1] as last_error
    from operator_events
    where wake_at is not null or sent_at is null and last_error is not null`);
  return row!;
}

/** Deletes old events, whether they were sent or not. Returns how many. */
export async function clear(db: Connection, days: number, limit: number): Promise<number> {
  const rows = await db.run(sql`
    delete from operator_events where id = any(array(
      select id from operator_events where created_at < now() - ${days} * interval '1 day'
      order by created_at limit ${limit}))
    returning id`);
  return rows.length;
}
