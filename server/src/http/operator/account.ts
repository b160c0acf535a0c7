import { ApiError } from '../../core/errors.ts';
import { roles } from '../../core/account/role.ts';
import { findWithFigures, type FoundRow } from '../../db/account-search.ts';
import * as accounts from '../../db/accounts.ts';
import * as invitations from '../../db/invitations.ts';
import * as keys from '../../db/keys.ts';
import * as people from '../../db/people.ts';
import { movements as movementsOf, type Movement } from '../../ledger/statement.ts';
import type { Database } from '../../lib/sql.ts';
import { setPrice } from '../../operations/account.ts';
import { Refused } from '../../operations/refused.ts';
import { changeEmail } from '../../operations/email.ts';
import { ceilingsOf, limitKey } from '../../operations/key.ts';
import { invite, resetLink } from '../../operations/person.ts';
import { text } from '../session/entry.ts';
import { emailChangedLetter } from '../session/letters.ts';
import { amount, choice, flag, idOf, optional, parameter, whole } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Visit } from '../session/visit.ts';
import { shown } from './accounts.ts';
import { keyBounds } from '../session/studio.ts';
import type { Deed } from './action.ts';

/** One account, below /accounts/:account_id: what is in it, and what an operator may do to it. */

/** GET: the account with its people, keys and open invitations. */
export const read: VisitHandler = async (visit, _reply, deps) => {
  const { db } = deps;
  const account = await need(db, visit);
  const [ceilings, members, ownKeys, invited] = await Promise.all([
    ceilingsOf(db, account.id, keyBounds(deps)),
    people.listOf(db, account.id),
    keys.list(db, account.id),
    invitations.listOpen(db, account.id),
  ]);
  return {
    ...shown(account),
    is_own: members.some(({ id, role }) => id === visit.session.person_id && role === 'owner'),
    people: members.map(personShown),
    keys: ownKeys.map(keyShown),
    key_ceilings: {
      ...ceilings,
      monthly_ceiling_usd_micro: ceilings.monthly_ceiling_usd_micro?.toString() ?? null,
    },
    invitations: invited.map(({ id, email, role, expires_at }) => {
      return { invitation_id: id, email, role, expires_at: expires_at.toISOString() };
    }),
  };
};

function personShown(row: people.PersonOf) {
  return {
    person_id: row.id,
    name: row.name,
    email: row.email,
    email_verified: row.email_verified,
    two_factor_enabled: row.two_factor_enabled,
    role: row.role,
    seen_at: row.seen_at?.toISOString() ?? null,
  };
}

function keyShown(row: keys.KeyRow) {
  return {
    key_id: row.id,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    monthly_limit_usd_micro:
      row.monthly_limit_usd_micro === null ? null : String(row.monthly_limit_usd_micro),
    rpm: row.rpm,
    open_jobs: row.open_jobs,
    month_usd_micro: String(row.spent_usd_micro),
    open_requests: row.open_requests,
    created_at: row.created_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

/** GET /statement?limit=&cursor=: its cursor is the number of a movement. */
export const movements: VisitHandler = async (visit, _reply, { db }) => {
  const cursor = parameter(visit, 'cursor');
  if (cursor !== null && !/^\d{1,18}$/.test(cursor)) {
    const message = 'cursor must be a next_cursor of this list.';
    throw new ApiError('bad_request', { message, param: 'cursor' });
  }
  const limit = 50;
  const rows = await movementsOf(db, {
    account_id: idOf(params(visit).account_id),
    kinds: [],
    from_seq: 1n,
    below_seq: cursor === null ? lastSeq : BigInt(cursor),
    from: null,
    to: null,
    limit: limit + 1,
  });
  const data = rows.slice(0, limit);
  const next_cursor = rows.length > limit ? String(data.at(-1)!.seq) : null;
  return { data: data.map(movementShown), next_cursor };
};

/** Higher than the number of any movement. */
const lastSeq = 2n ** 63n - 1n;

function movementShown(row: Movement) {
  return {
    transfer_id: row.id,
    kind: row.kind,
    amount_usd_micro: String(row.amount_usd_micro),
    change_usd_micro: String(row.change_usd_micro),
    available_after_usd_micro: String(row.available_after_usd_micro),
    request_id: row.request_id,
    model_id: row.model_id,
    reference: row.reference,
    reason: row.reason,
    created_at: row.created_at.toISOString(),
  };
}

/** POST /suspend and /resume: from the next call on. */
export function setStatus(status: 'active' | 'suspended'): Deed {
  return async (_form, visit, { db }) => {
    const { id } = await need(db, visit);
    if (status === 'suspended') await demandOther(db, visit, id);
    return change(visit, { status }, (same) => accounts.setStatus(same, id, status));
  };
}

/** PUT /price {price_ppm}: what it pays of every rate from the next call on, in millionths. */
export const price: Deed = async (form, visit, { db }) => {
  const price_ppm = whole(form, 'price_ppm', 0, 100_000_000);
  const { id } = await need(db, visit);
  return change(visit, { price_ppm }, (same) => setPrice(same, id, price_ppm));
};

/** PUT /operator {is_operator}: whether its owners run the service. */
export const operator: Deed = async (form, visit, { db }) => {
  const is_operator = flag(form, 'is_operator');
  const { id } = await need(db, visit);
  if (!is_operator) await demandOther(db, visit, id);
  return change(visit, { is_operator }, (same) => accounts.setOperator(same, id, is_operator));
};

/** Sets one thing about the account; the log has what it was before. */
function change(
  visit: Visit,
  wanted: Partial<accounts.Switches>,
  work: (db: Database) => Promise<void>,
) {
  return async (db: Database) => {
    const { id: account_id, email } = await need(db, visit);
    const switches = await accounts.lock(db, account_id);
    await work(db);
    const [name] = Object.keys(wanted) as [keyof accounts.Switches];
    const details = { ...wanted, before: { [name]: switches[name] } };
    return { answer: wanted, account_id, target: email, details };
  };
}

/** Nobody locks themselves out by a slip; another operator may. */
async function demandOther(db: Database, { session }: Visit, account_id: string): Promise<void> {
  const own = await people.membership(db, session.person_id, account_id);
  if (own?.role !== 'owner' || !own.is_operator) return;
  throw new Refused('That would take the console away from you. Another operator can do it.');
}

const countMax = 1_000_000;

/**
 * PUT /keys/:key_id {monthly_limit_usd_micro?, rpm?, open_jobs?}: null takes a limit away, and what
 * is left out stays. The key's people can only go lower.
 */
export const limits: Deed = async (form, visit, deps) => {
  const count = (given: typeof form, name: string) => whole(given, name, 1, countMax);
  const given = <T>(name: string, read: (given: typeof form, name: string) => T) =>
    form[name] === undefined ? undefined : optional(form, name, read);
  const wanted = {
    monthly_limit_usd_micro: given('monthly_limit_usd_micro', amount),
    rpm: given('rpm', count),
    open_jobs: given('open_jobs', count),
  };
  const account = await need(deps.db, visit);
  const key_id = idOf(params(visit).key_id);
  const key = (await keys.list(deps.db, account.id)).find(({ id }) => id === key_id);
  if (!key) throw new ApiError('not_found');
  const plain = (limits: typeof wanted) => {
    const { monthly_limit_usd_micro: limit, rpm, open_jobs } = limits;
    return { monthly_limit_usd_micro: limit?.toString() ?? limit, rpm, open_jobs };
  };
  return async (db) => {
    if ((await limitKey(db, key_id, wanted)) !== 'changed')
      throw new Refused('This key is revoked: no call is made with it.');
    const details = { key_id, ...plain(wanted), before: plain(key) };
    return { answer: plain(wanted), account_id: account.id, target: key.name, details };
  };
};

/** POST /invitations {email, role}: a link into the account, told once. */
export const inviteInto: Deed = async (form, visit, deps) => {
  const email = text(form, 'email', 254);
  const role = choice(form, 'role', roles);
  const account = await need(deps.db, visit);
  return async (db) => {
    const { id: account_id } = account;
    const invited_by = visit.session.person_id;
    const made = await invite(db, { account_id, email, role, invited_by });
    const link = `${deps.web.origin()}/invitation?token=${made.token}`;
    return { answer: { link }, account_id, target: made.email, details: { role } };
  };
};

/** POST /people/:person_id/reset: a link to a new password, told once. */
export const reset: Deed = async (_form, visit, deps) => {
  const account = await need(deps.db, visit);
  const person = await personOf(account.id, visit, deps.db);
  return async (db) => {
    const token = await resetLink(db, person.email);
    const link = `${deps.web.origin()}/reset?token=${token}`;
    return { answer: { link }, account_id: account.id, target: person.email };
  };
};

/** POST /people/:person_id/email {email}: they sign in with another address, which you vouch for. */
export const setEmail: Deed = async (form, visit, deps) => {
  const email = text(form, 'email', 254);
  const account = await need(deps.db, visit);
  const person = await personOf(account.id, visit, deps.db);
  return async (db) => {
    const changed = await changeEmail(db, person.email, email);
    const after = () => deps.web.post?.(emailChangedLetter(changed.before, changed.email));
    const row = {
      account_id: account.id,
      target: changed.before,
      details: { email: changed.email },
    };
    return { answer: changed, ...row, after };
  };
};

async function personOf(account_id: string, visit: Visit, db: Database) {
  const person_id = idOf(params(visit).person_id);
  const person = (await people.listOf(db, account_id)).find(({ id }) => id === person_id);
  if (!person) throw new ApiError('not_found');
  return person;
}

/** The account that the path names. Throws `not_found`. */
export async function need(db: Database, visit: Visit): Promise<FoundRow> {
  const id = idOf(params(visit).account_id);
  const row = await findWithFigures(db, id);
  if (row) return row;
  throw new ApiError('not_found');
}

function params(visit: Visit): Record<string, unknown> {
  return visit.params as Record<string, unknown>;
}
