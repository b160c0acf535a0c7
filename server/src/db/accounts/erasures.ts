import { newId } from '../../lib/id.ts';
import { lockNumbers } from '../operator-log.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { rawSql, sql, type Connection } from '../../lib/sql/sql.ts';

/** Erased people: their names go at once, the content of their requests in parts. */

/** Content of requests that is still to be deleted, in one account. */
export interface Erasure {
  id: string;
  person_id: string;
  account_id: string;
  is_closed: boolean;
  after_id: string | null;
}

export interface ListedErasure extends Omit<Erasure, 'after_id'> {
  created_at: Date;
  ended_at: Date | null;
}

/** Stands for an address in rows that stay; nobody can have it. */
export const erasedAddress = (id: string): string => `${id}@erased.invalid`;

/** Where the person has sent requests, besides the accounts that they still belong to. */
export async function listWorked(db: Connection, personId: string): Promise<string[]> {
  const rows = await db.run<{ id: string }>(sql`
    select a.id from accounts a where exists (
      select from members m where m.account_id = a.id and m.person_id = ${personId})
      or exists (select from requests r where r.account_id = a.id and r.person_id = ${personId})`);
  return rows.map(({ id }) => id);
}

export async function addMany(
  db: Connection,
  rows: Pick<Erasure, 'person_id' | 'account_id' | 'is_closed'>[],
): Promise<void> {
  const numbered = rows.map((row) => ({ id: newId(), ...row }));
  await db.run(sql`
    insert into erasures (id, person_id, account_id, is_closed)
    select id, person_id, account_id, is_closed
    from ${rowsOf(numbered, {
      id: 'uuid',
      person_id: 'uuid',
      account_id: 'uuid',
      is_closed: 'bool',
    })} as d`);
}

/** Newest first. */
export function list(db: Connection, limit: number): Promise<ListedErasure[]> {
  return db.run<ListedErasure>(sql`
    select id, person_id, account_id, is_closed, created_at, ended_at
    from erasures order by id desc limit ${limit}`);
}

export function listOpen(db: Connection, limit: number): Promise<Erasure[]> {
  return db.run<Erasure>(sql`
    select id, person_id, account_id, is_closed, after_id
    from erasures where ended_at is null order by id limit ${limit}`);
}

/** Notes that all is deleted up to this request, or everything. */
export async function saveProgress(
  db: Connection,
  erasure: Pick<Erasure, 'id' | 'after_id'> & { has_ended: boolean },
): Promise<void> {
  const { id, after_id, has_ended } = erasure;
  await db.run(sql`
    update erasures set after_id = ${after_id}, ended_at = case when ${has_ended} then now() end
    where id = ${id}`);
}

/** An address to forget: where, when, and what stands in its place. */
export interface ForgottenAddress {
  email: string;
  erased: string;
  /** Only in what concerns this account; null: everywhere. */
  account_id: string | null;
  /** Times of PostgreSQL, as texts. */
  since: string;
  until: string;
  /** The address at their sign-up: invitations to it may be older. */
  is_first: boolean;
}

/**
 * The addresses that a person had, the present one first, as far as the operator's log knows. Each
 * has its time, because others may have had it before and afterwards.
 */
export async function listAddresses(
  db: Connection,
  { id, email }: { id: string; email: string },
): Promise<ForgottenAddress[]> {
  const [person] = await db.run<{ since: string }>(sql`
    select created_at::text as since from people where id = ${id}`);
  const changes = await db.run<{ email: string; former: string; at: string }>(sql`
    select details->>'email' as email, details->'before'->>'email' as former,
      created_at::text as at
    from operator_log
    where action in ('person.change', 'person.email') and details->'before'->>'email' is not null
      and created_at >= ${person!.since}::timestamptz
    order by seq desc`);
  const had = { erased: erasedAddress(id), account_id: null };
  const found: ForgottenAddress[] = [];
  let last = { email, until: 'infinity' };
  for (const change of changes) {
    if (change.email !== last.email) continue;
    found.push({ ...had, ...last, since: change.at, is_first: false });
    last = { email: change.former, until: change.at };
  }
  return [...found, { ...had, ...last, since: person!.since, is_first: true }];
}

const rowsOfForgotten = (forgotten: readonly ForgottenAddress[]) =>
  rowsOf(forgotten, {
    email: 'text',
    erased: 'text',
    account_id: 'uuid',
    since: 'timestamptz',
    until: 'timestamptz',
    is_first: 'bool',
  });

/**
 * Deletes what a closed account keeps for its people: names, invitations, alerts, refused calls and
 * deliveries of no request. Files are deleted as if their time were over.
 */
export async function emptyAccounts(db: Connection, ids: string[]): Promise<void> {
  await db.run(sql`
    with named as (
      update keys set name = 'erased' where account_id = any(${ids}::uuid[]) and not is_studio
    ), invited as (
      delete from invitations where account_id = any(${ids}::uuid[])
    ), alerted as (
      delete from alerts where account_id = any(${ids}::uuid[])
    ), caused as (
      delete from alert_causes where account_id = any(${ids}::uuid[])
    ), refused as (
      delete from refused_calls where account_id = any(${ids}::uuid[])
    ), counted as (
      delete from refusals where account_id = any(${ids}::uuid[])
    ), told as (
      delete from webhook_deliveries
      where account_id = any(${ids}::uuid[]) and request_id is null
    ), held as (
      update files set expires_at = now()
      where account_id = any(${ids}::uuid[]) and expires_at > now()
    )
    update accounts set status = 'suspended', name = null, billed_to = null
    where id = any(${ids}::uuid[])`);
}

export interface RenamedAccount {
  id: string;
  /** The former address. */
  email: string;
  /** False: it keeps its address, and only its name went. */
  is_renamed: boolean;
}

/**
 * Accounts with an address of the person get another one, if they worked there or the account was
 * made while the address was theirs, and is not one of operators; so do all of `closed`.
 */
export function renameAccounts(
  db: Connection,
  had: readonly ForgottenAddress[],
  { worked, closed }: { worked: string[]; closed: string[] },
): Promise<RenamedAccount[]> {
  return db.run<RenamedAccount>(sql`
    with theirs as (
      select a.id, a.email, a.email = h.email or a.id = any(${closed}::uuid[]) as is_renamed
      from accounts a left join ${rowsOfForgotten(had)} h on h.email in (a.email, a.name)
        and (a.id = any(${worked}::uuid[])
          or (not a.is_operator and a.created_at between h.since and h.until))
      where h.email is not null or a.id = any(${closed}::uuid[])
    ), found as (
      select id, email, coalesce(bool_or(is_renamed), false) as is_renamed from theirs group by 1, 2
    )
    update accounts a set
      name = case when a.name in (select email from ${rowsOfForgotten(had)} n) then null
        else a.name end,
      email = case when f.is_renamed then a.id || '@erased.invalid' else a.email end,
      email_form = case when f.is_renamed then null else a.email_form end
    from found f where f.id = a.id
    returning a.id, f.email, f.is_renamed`);
}

/**
 * Forgets addresses in events to the operator, and as the author of what an operator changed.
 * Deletes invitations to them.
 */
export async function forgetAddresses(
  db: Connection,
  forgotten: readonly ForgottenAddress[],
): Promise<void> {
  await db.run(sql`
    with gone as (
      select * from ${rowsOfForgotten(forgotten)} g
    ), invited as (
      delete from invitations i using gone g
      where i.email = g.email and g.account_id is null and i.created_at <= g.until
    ), told as (
      update operator_events e set data = jsonb_set(e.data::jsonb, '{email}', to_jsonb(g.erased))
      from gone g where e.data->>'email' = g.email
        and (g.account_id = e.account_id
          or g.account_id is null and e.created_at between g.since and g.until)
    ), made as (
      update operator_keys k set created_by = g.erased from gone g
      where k.created_by = g.email and g.account_id is null
        and k.created_at between g.since and g.until
    ), priced as (
      update model_overrides m set changed_by = g.erased from gone g
      where m.changed_by = g.email and g.account_id is null
        and m.changed_at between g.since and g.until
    ), stopped as (
      update stopped_models m set stopped_by = g.erased from gone g
      where m.stopped_by = g.email and g.account_id is null
        and m.stopped_at between g.since and g.until
    )
    update upstream_controls c set changed_by = g.erased from gone g
    where c.changed_by = g.email and g.account_id is null
      and c.changed_at between g.since and g.until`);
}

const appendOnly = (table: string, is: 'disable' | 'enable') =>
  rawSql(`alter table ${table} ${is} trigger ${table}_append_only`);

/** How long this waits for other writers of a log, while further ones wait for it. */
const lockMs = 5_000;

/**
 * Forgets a person and addresses in rows that nothing else may change: resolutions and the
 * operator's log. Amounts, references, reasons and times stay, by which the audit compares the log
 * with the books. Only this transaction is without their triggers. Locks are taken in the order of
 * other writers, who wait for the end of the transaction.
 */
export async function forgetInLogs(
  tx: Connection,
  personId: string,
  forgotten: readonly ForgottenAddress[],
): Promise<void> {
  const erased = erasedAddress(personId);
  await tx.run(rawSql(`set local lock_timeout = ${lockMs}`));
  const [resolved] = await tx.run(sql`
    select from resolutions where person_id = ${personId} limit 1`);
  if (resolved) {
    await tx.run(appendOnly('resolutions', 'disable'));
    await tx.run(sql`update resolutions set by_email = ${erased} where person_id = ${personId}`);
    await tx.run(appendOnly('resolutions', 'enable'));
  }
  await lockNumbers(tx);
  await tx.run(appendOnly('operator_log', 'disable'));
  const rows = await tx.run<NamingRow>(sql`
    select l.id, l.action, l.target, l.details, f.found
    from operator_log l cross join lateral (
      select json_agg(g) as found from ${rowsOfForgotten(forgotten)} g
      where (l.target = g.email or l.action = any(${[...withAddresses]}::text[])
          and position(to_json(g.email)::text in l.details::text) > 0)
        and (g.account_id = l.account_id
          or g.account_id is null and l.created_at between g.since and g.until
          or g.is_first and l.created_at <= g.until and l.action = any(${invites}::text[]))
    ) f
    where f.found is not null`);
  await tx.run(sql`
    update operator_log l set target = d.target, details = coalesce(d.details, l.details)
    from ${rowsOf(rows.map(withoutNames), { id: 'uuid', target: 'text', details: 'json' })} d
    where l.id = d.id`);
  await tx.run(sql`update operator_log set by_email = ${erased} where person_id = ${personId}`);
  await tx.run(appendOnly('operator_log', 'enable'));
}

interface NamingRow {
  id: string;
  action: string;
  target: string | null;
  details: Details | null;
  found: ForgottenAddress[];
}

interface Details {
  name?: string;
  email?: string;
  invited?: string;
  empty?: string[];
  before?: Details;
}

/** Acts whose details have addresses. */
const withAddresses = new Set(['person.change', 'person.email', 'person.remove', 'account.create']);
/** Acts that name an address before it is somebody's. */
const invites = [
  'account.invite',
  'invitation.create',
  'invitation.withdraw',
  'team.invite',
  'team.withdraw',
];

/** Null for details that stay as they are, word for word. */
function withoutNames({ id, action, target, details, found }: NamingRow) {
  // A person's own addresses come first.
  const known = new Map(found.toReversed().map(({ email, erased }) => [email, erased]));
  const swap = (text: string) => known.get(text) ?? text;
  const ofPerson = action === 'person.change' && target !== null && known.has(target);
  const told = (all: Details): Details => ({
    ...all,
    ...(all.email !== undefined && { email: swap(all.email) }),
    ...(all.invited !== undefined && { invited: swap(all.invited) }),
    ...(all.empty && { empty: all.empty.map(swap) }),
    ...(ofPerson && all.name !== undefined && { name: 'erased' }),
    ...(all.before && { before: told(all.before) }),
  });
  const is_told = details !== null && withAddresses.has(action);
  return {
    id,
    target: target && swap(target),
    details: is_told ? JSON.stringify(told(details)) : null,
  };
}
