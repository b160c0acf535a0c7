import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { unseen, unseenWords } from '../../core/account/name.ts';
import * as keys from '../../db/keys.ts';
import * as refusals from '../../db/refusals.ts';
import {
  ceilingsOf,
  changeKey,
  endOverlap,
  makeKey,
  overlapMaxHours,
  revokeKey,
  rotateKey,
  studioKey,
} from '../../operations/key.ts';
import { inWords, text } from '../session/entry.ts';
import * as judge from '../form.ts';
import { keyBounds } from '../session/studio.ts';
import { readForm, type Visit, type WebDeps } from '../session/visit.ts';

/** Keys on the customer's pages. A key's text is in the reply that makes it, and in no other. */

type Form = Record<string, unknown>;

const modelsMax = 200;
const fields = ['monthly_limit_usd_micro', 'rpm', 'open_jobs', 'expires_at', 'models'];

/**
 * GET /keys?state=active|all: newest first. The studio key stands apart; `defaults` are the figures
 * of a key that has none of its own, `ceilings` what the operator has set for those that they make,
 * `refused` how many calls of which key were refused in the last hour, by error code.
 */
export async function list(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { db } = deps;
  const { account_id } = visit;
  const state = judge.parameter(visit, 'state') ?? 'active';
  if (state !== 'active' && state !== 'all') {
    throw new ApiError('bad_request', { message: 'state must be active or all.', param: 'state' });
  }
  const page = judge.pageOf(visit, 50);
  const filter = { account_id, is_active: state === 'active', below_id: page.cursor };
  const rows = await keys.page(db, { ...filter, limit: page.limit + 1 });
  const bounds = keyBounds(deps);
  const studio = await keys.findByHash(db, await studioKey(db, account_id, bounds));
  const ceilings = await ceilingsOf(db, account_id, bounds);
  return {
    ...judge.pageFrom(rows, page, shown),
    studio: shown(studio!),
    defaults: bounds,
    refused: await refusals.ofLastHour(db, account_id),
    ceilings: {
      ...ceilings,
      monthly_ceiling_usd_micro: ceilings.monthly_ceiling_usd_micro?.toString() ?? null,
    },
  };
}

/** GET /keys/{key_id} */
export async function read(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  return shown(await need(visit, deps));
}

/** POST /keys {name, monthly_limit_usd_micro?, expires_at?, models?, rpm?, open_jobs?} */
export async function create(visit: Visit, reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const form = await readForm(visit, deps);
  only(form, ['name', ...fields]);
  const name = nameOf(form);
  const limits = limitsOf(form, null, deps);
  const bounds = keyBounds(deps);
  const wanted = {
    account_id: visit.account_id,
    name,
    monthly_limit_usd_micro: limits.monthly_limit_usd_micro ?? null,
    rpm: atMost('rpm', limits.rpm, bounds.rpm),
    open_jobs: atMost('open_jobs', limits.open_jobs, bounds.open_jobs),
    expires_at: limits.expires_at ?? null,
    models: limits.models ?? null,
  };
  const { key, key_id } = await inWords(makeKey(deps.db, wanted, bounds));
  reply.code(201);
  return { key, ...shown((await keys.find(deps.db, visit.account_id, key_id))!) };
}

/** PATCH /keys/{key_id}: what is given changes; null takes a limit away that is their own. */
export async function change(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const now = await need(visit, deps);
  const form = await readForm(visit, deps);
  only(form, ['name', ...fields]);
  await inWords(
    changeKey(deps.db, {
      key_id: now.id,
      bounds: keyBounds(deps),
      limits: limitsOf(form, now, deps),
      ...(form.name !== undefined && { name: nameOf(form) }),
    }),
  );
  return shown(await need(visit, deps));
}

/** POST /keys/{key_id}/rotate {last4, overlap_hours}: `last4` of the text that is replaced. */
export async function rotate(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { id: key_id } = await need(visit, deps);
  const form = await readForm(visit, deps);
  only(form, ['last4', 'overlap_hours']);
  const last4 = text(form, 'last4', 4, 4);
  const overlap_hours = judge.whole(form, 'overlap_hours', 0, overlapMaxHours);
  const { key } = await inWords(rotateKey(deps.db, { key_id, last4, overlap_hours }));
  return { key, ...shown(await need(visit, deps)) };
}

/** DELETE /keys/{key_id}/previous: the overlap of the last rotation ends now. */
export async function dropPrevious(
  visit: Visit,
  _reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const { id } = await need(visit, deps);
  await inWords(endOverlap(deps.db, id));
  return shown(await need(visit, deps));
}

/** DELETE /keys/{key_id}: refused from the next call on, for good. */
export async function revoke(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { id } = await need(visit, deps);
  await inWords(revokeKey(deps.db, id));
  return shown(await need(visit, deps));
}

/** Throws `not_found` for a key of another account as for one that never was. */
async function need(visit: Visit, { db }: WebDeps): Promise<keys.KeyRow> {
  const { key_id } = visit.params as { key_id: string };
  const row = await keys.find(db, visit.account_id, judge.idOf(key_id));
  if (!row) throw new ApiError('not_found');
  return row;
}

function shown(row: keys.KeyRow) {
  const { id, account_id: _account, month, prefix, last4, ...rest } = row;
  const [year, monthOfYear] = month.split('-').map(Number);
  return {
    key_id: id,
    hint: `${prefix}…${last4}`,
    last4,
    ...rest,
    monthly_limit_usd_micro: row.monthly_limit_usd_micro?.toString() ?? null,
    monthly_ceiling_usd_micro: row.monthly_ceiling_usd_micro?.toString() ?? null,
    spent_usd_micro: String(row.spent_usd_micro),
    reserved_usd_micro: String(row.reserved_usd_micro),
    resets_at: new Date(Date.UTC(year!, monthOfYear!)).toISOString(),
  };
}

function only(form: Form, allowed: string[]): void {
  const odd = Object.keys(form).find((name) => !allowed.includes(name));
  if (odd === undefined) return;
  throw new ApiError('bad_request', {
    message: `There is no field ${odd.slice(0, 50)} here. Allowed: ${allowed.join(', ')}.`,
    param: odd.slice(0, 50),
  });
}

function nameOf(form: Form): string {
  const name = text(form, 'name', 100).trim();
  if (name !== '' && !unseen.test(name)) return name;
  throw bad('name', `1 to 100 characters on one line, ${unseenWords}`);
}

function limitsOf(form: Form, now: keys.KeyRow | null, deps: WebDeps): keys.Limits {
  const limits = {
    monthly_limit_usd_micro: given(form, 'monthly_limit_usd_micro', spendLimit),
    rpm: given(form, 'rpm', positive),
    open_jobs: given(form, 'open_jobs', positive),
    expires_at: given(form, 'expires_at', judge.futureTime),
    models: given(form, 'models', () => modelsOf(form.models, now?.models ?? [], deps)),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** Undefined where it is left out, null where it is null. */
function given<T>(
  form: Form,
  name: string,
  read: (form: Form, name: string) => T,
): T | null | undefined {
  const value = form[name];
  return value === undefined || value === null ? value : read(form, name);
}

function spendLimit(form: Form, name: string): bigint {
  const limit = judge.signedAmount(form, name);
  if (limit >= 0n) return limit;
  throw bad(name, 'not below 0');
}

function positive(form: Form, name: string): number {
  return judge.whole(form, name, 1, 1_000_000);
}

/** More is the operator's to give. */
function atMost(name: string, value: number | null | undefined, most: number): number | null {
  if (value === undefined || value === null) return null;
  if (value <= most) return value;
  throw bad(name, `at most ${most}; ask the operator for more`);
}

/** Ids of the catalog, or such as the key has already: a model may be away for a while. */
function modelsOf(value: unknown, kept: string[], deps: WebDeps): string[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > modelsMax)
    throw bad('models', `a list of 1 to ${modelsMax} model ids, or null for all models`);
  const { models } = deps.catalog();
  for (const [i, id] of value.entries()) {
    const isKnown = typeof id === 'string' && (models.has(id) || kept.includes(id));
    if (!isKnown) throw bad(`models[${i}]`, 'the id of a model, as GET /v1/models lists it');
  }
  return [...new Set(value as string[])];
}

function bad(name: string, rule: string): ApiError {
  return new ApiError('bad_request', { message: `${name} must be ${rule}.`, param: name });
}
