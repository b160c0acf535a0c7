import { newId } from '../../lib/id.ts';
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
export async function note(
  db: Connection,
  erasure: Pick<Erasure, 'id' | 'after_id'> & { has_ended: boolean },
): Promise<void> {
  const { id, after_id, has_ended } = erasure;
  await db.run(sql`
    update erasures set after_id = ${after_id}, ended_at = case when ${has_ended} then now() end
    where id = ${id}`);
}

/**
 * All addresses that the person had, the present one first, as far as the operator's log knows.
 * Without those that somebody else has by now.
 */
export async function listAddresses(db: Connection, email: string): Promise<string[]> {
  const rows = await db.run<{ email: string }>(sql`
    with recursive had as (
      select ${email}::text as email
      union
      select l.details->'before'->>'email' from had join operator_log l
        on l.action in ('person.change', 'person.email') and l.details->>'email' = had.email
      where l.details->'before'->>'email' is not null
    )
    select email from had where email = ${email}
      or not exists (select from people p where p.email = had.email)
    order by email <> ${email}, email`);
  return rows.map(({ email: had }) => had);
}

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

/**
 * Puts `erased` in the place of an address: of accounts, in events to the operator, and as the
 * author of what an operator changed. Deletes invitations of the address.
 */
export async function forgetAddress(
  db: Connection,
  { address, erased }: { address: string; erased: string },
): Promise<void> {
  await db.run(sql`
    with invited as (
      delete from invitations where email = ${address}
    ), told as (
      update operator_events set data = replace(data::text, to_json(${address}::text)::text,
        to_json(${erased}::text)::text)::jsonb
      where position(to_json(${address}::text)::text in data::text) > 0
    ), made as (
      update operator_keys set created_by = ${erased} where created_by = ${address}
    ), priced as (
      update model_overrides set changed_by = ${erased} where changed_by = ${address}
    ), stopped as (
      update stopped_models set stopped_by = ${erased} where stopped_by = ${address}
    ), switched as (
      update upstream_controls set changed_by = ${erased} where changed_by = ${address}
    )
    update accounts set name = nullif(name, ${address}),
      email = case when email = ${address} then id || '@erased.invalid' else email end,
      email_form = case when email = ${address} then null else email_form end
    where email = ${address} or name = ${address}`);
}

const appendOnly = (table: string, is: 'disable' | 'enable') =>
  rawSql(`alter table ${table} ${is} trigger ${table}_append_only`);

/**
 * Puts `erased` in the place of an address in rows that nothing else may change: the operator's log
 * and resolutions. Amounts, references, reasons and times stay, by which the audit compares the log
 * with the books. Only this transaction is without their triggers, and others that would write wait
 * for its end.
 */
export async function forgetInLogs(
  tx: Connection,
  { address, erased }: { address: string; erased: string },
): Promise<void> {
  const [found] = await tx.run<{ is_logged: boolean; has_resolved: boolean }>(sql`
    select exists (select from operator_log where by_email = ${address} or target = ${address}
        or position(to_json(${address}::text)::text in details::text) > 0) as is_logged,
      exists (select from resolutions where by_email = ${address}) as has_resolved`);
  if (found!.has_resolved) {
    await tx.run(appendOnly('resolutions', 'disable'));
    await tx.run(sql`update resolutions set by_email = ${erased} where by_email = ${address}`);
    await tx.run(appendOnly('resolutions', 'enable'));
  }
  if (!found!.is_logged) return;
  await tx.run(appendOnly('operator_log', 'disable'));
  await tx.run(sql`
    update operator_log set
      by_email = case when by_email = ${address} then ${erased} else by_email end,
      target = case when target = ${address} then ${erased} else target end,
      details = replace(details::text, to_json(${address}::text)::text,
        to_json(${erased}::text)::text)::json
    where by_email = ${address} or target = ${address}
      or position(to_json(${address}::text)::text in details::text) > 0`);
  await tx.run(sql`
    update operator_log set details = jsonb_set(jsonb_set(details::jsonb, '{name}', '"erased"',
      false), '{before,name}', '"erased"', false)::json
    where action = 'person.change' and target = ${erased}`);
  await tx.run(appendOnly('operator_log', 'enable'));
}
