import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { hashKey, parseAuthorization, whyNoKey } from '../core/account/key.ts';
import type { OperatorRight, OperatorRole } from '../core/account/operator-role.ts';
import type { KeyScope, Scope } from '../core/account/scope.ts';
import { hasKeysByApi } from '../db/accounts/accounts.ts';
import type { Caller, KeyGrant, LapsedKey, CallRate } from '../db/accounts/callers.ts';
import { isOfOperators } from '../db/accounts/operators.ts';
import * as operatorKeys from '../db/operator-keys.ts';
import { headerValues } from '../lib/outbound/headers.ts';
import { noKeysByApi } from '../operations/accounts/key-rules.ts';
import { keyAuthor } from '../operations/operator-action.ts';
import { Refusal } from '../operations/refusal.ts';
import type { CallDeps, OperatorAsker, RequestDeps, SpareRule } from './deps.ts';
import { challenge } from './errors.ts';
import { idIn } from './ids.ts';

const policyNames = { key: 'calls', account: 'account-calls' };
const windowSeconds = 60;

/**
 * Returns the caller that the key belongs to, and also sets it on `req`. Throws `unauthorized`,
 * `rate_limited`, or `forbidden` if the key has another scope or its account may not manage keys by
 * API; sets the rate headers.
 */
export async function authenticate(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: RequestDeps,
  scope: KeyScope,
): Promise<{ caller: Caller; grant: KeyGrant }> {
  const header = keyHeaders(req);
  const key = parseAuthorization(header);
  if (key === null) {
    const message = whyNoKey(header) ?? undefined;
    throw new ApiError('unauthorized', { message, headers: challenge });
  }
  const key_hash = hashKey(key);
  const caller = await deps.operations.authenticate(key_hash);
  if (caller === null) {
    throw new ApiError('unauthorized', {
      message: 'This key is invalid or has been revoked.',
      headers: challenge,
    });
  }
  if ('lapsed' in caller)
    throw new ApiError('unauthorized', { message: lapsedWords(caller), headers: challenge });
  // guard: suspended-account
  if (!caller.active) {
    throw new ApiError('unauthorized', {
      message: 'The account of this key is suspended. Ask the operator.',
      headers: challenge,
    });
  }
  // Set before the rate is checked, because refusals are counted by caller.
  Object.assign(req, { caller });
  setRateHeaders(reply, caller.rate);
  // guard: calls-a-minute
  if (!caller.rate.granted) throw tooManyCalls(caller.rate);
  // guard: key-scope
  if (caller.scope !== scope) {
    const message = scopeWords[scope];
    throw new ApiError('forbidden', { message, details: { scope, scopes: [caller.scope] } });
  }
  // guard: keys-by-api
  if (scope === 'keys' && !(await hasKeysByApi(deps.db, caller.account_id))) throw noKeysByApi();
  return { caller, grant: { key_hash, account_id: caller.account_id } };
}

/**
 * Returns the holder of an operator key for a call that needs this scope. Throws `unauthorized`,
 * `rate_limited` or `forbidden`; sets the rate headers.
 */
export async function authenticateOperator(
  req: FastifyRequest,
  reply: FastifyReply,
  scope: Scope,
  { db, settings }: CallDeps,
): Promise<OperatorAsker & { by: { operator_key_id: string } }> {
  const header = keyHeaders(req);
  const key = parseAuthorization(header, 'fbo_');
  if (key === null) {
    const message =
      whyNoKey(header, 'fbo_') ?? 'Send an operator key as "Authorization: Key fbo_...".';
    throw new ApiError('unauthorized', { message, headers: challenge });
  }
  const quota = settings.FAREBOX_RPM;
  const operator = await operatorKeys.authenticate(db, hashKey(key), quota);
  if (operator === null) {
    throw new ApiError('unauthorized', {
      message: 'This operator key is invalid or has been revoked.',
      headers: challenge,
    });
  }
  const { calls, reset_seconds, scopes } = operator;
  const granted = calls <= quota;
  const remaining = Math.max(0, quota - calls);
  const rate: CallRate = { of: 'key', granted, quota, remaining, reset_seconds };
  setRateHeaders(reply, rate);
  // guard: operator-calls-a-minute
  if (!granted) throw tooManyCalls(rate);
  const asker = { by: keyAuthor(operator), scopes, role: null };
  demandScope(asker, scope);
  return asker;
}

/** Throws `forbidden` if an operator key, or the role of an operator, lacks this right. */
export function demandScope({ scopes, role }: OperatorAsker, scope: OperatorRight): void {
  // guard: operator-scope
  if (!scopes.includes(scope)) {
    if (role !== null) throw roleTooLow(role, scope);
    throw new ApiError('forbidden', {
      message: `This call needs an operator key with the scope ${scope}. This key has ${scopes.join(', ')}.`,
      details: { scope, scopes },
    });
  }
}

/** Ids in the path of a call. */
interface PathIds {
  account_id?: string;
  key_id?: string;
  person_id?: string;
}

/**
 * No key decides who runs the service, because a key may leak, and no operator who is not an owner
 * of it. Throws `Refusal`.
 */
export async function demandNotOperators(
  { params }: FastifyRequest,
  { scopes }: OperatorAsker,
  { spares }: SpareRule,
  { db }: Pick<CallDeps, 'db'>,
): Promise<void> {
  if (spares === undefined || scopes.includes('own')) return;
  const { account_id, key_id, person_id } = params as PathIds;
  const named = { account_id: idIn(account_id), key_id: idIn(key_id), person_id: idIn(person_id) };
  // guard: keys-leave-operators
  if (await isOfOperators(db, named)) throw operatorAccountRefusal(person_id !== undefined);
}

export function operatorAccountRefusal(isPerson: boolean): Refusal {
  return new Refusal(
    isPerson
      ? 'Only an owner of the service can do this to somebody of an operator account. Keys cannot.'
      : 'Only an owner of the service can suspend, resume or export an account whose people run the service, invite into it or change its keys. An operator key cannot: do it on the operator pages.',
    { reason: 'operator_account' },
  );
}

function roleTooLow(role: OperatorRole, scope: OperatorRight): ApiError {
  const needs = scope === 'own' ? 'only owners of the service may' : `it needs the right ${scope}`;
  return new ApiError('forbidden', {
    message: `Your role, ${role}, may not do this: ${needs}. Ask an owner of the service.`,
    reason: 'operator_role_too_low',
    details: { role, scope },
  });
}

/**
 * The `Authorization` headers of a call. A key in `x-api-key`, as Anthropic's clients send it,
 * counts as such a header. Beside `Authorization`, `x-api-key` may hold a proxy's key, which is
 * ignored. Throws `unauthorized` if both headers have keys of this service and the keys differ.
 */
export function keyHeaders(req: FastifyRequest): string[] {
  const { rawHeaders } = req.raw;
  const header = headerValues(rawHeaders, 'authorization');
  const keys = headerValues(rawHeaders, 'x-api-key').filter((key) => key !== '');
  if (header.length === 0) return keys.map((key) => `Key ${key}`);
  const ours = keys.filter((key) => /^fb[xo]_/.test(key));
  if (ours.some((key) => header[0]!.replace(/^\S+ +/, '') !== key)) {
    throw new ApiError('unauthorized', {
      message: 'Authorization and x-api-key have different keys. Send only one of the two.',
      headers: challenge,
    });
  }
  return header;
}

/** The message for a key that lacks the scope of its call, by the scope that the call needs. */
const scopeWords: Record<KeyScope, string> = {
  spend: 'This key only manages keys, with calls below /v1/keys. Use another key for this call.',
  keys: 'This call needs a key of scope keys. Create one on the Keys page of the dashboard.',
};

/** The message may give details, because only the holder of the key gets it. */
function lapsedWords({ lapsed, at }: LapsedKey): string {
  const when = at.toISOString();
  return lapsed === 'expired'
    ? `This key expired on ${when}. Use another one, or give it a later end in the dashboard.`
    : `This key was rotated, and this secret was valid until ${when}. Use the newer secret.`;
}

export function tooManyCalls({ of, quota, reset_seconds }: CallRate): ApiError {
  const who = of === 'key' ? 'This key' : 'All keys of this account together';
  return new ApiError('rate_limited', {
    message: `${who} may make ${quota} calls a minute. Wait ${reset_seconds} s.`,
    details: { limit: quota, window_seconds: windowSeconds, resets_in_seconds: reset_seconds },
    headers: { 'retry-after': String(reset_seconds) },
  });
}

export function setRateHeaders(
  reply: FastifyReply,
  { of, quota, remaining, reset_seconds }: CallRate,
): void {
  const policyName = policyNames[of];
  reply.header('ratelimit-policy', `"${policyName}";q=${quota};w=${windowSeconds}`);
  reply.header('ratelimit', `"${policyName}";r=${remaining};t=${reset_seconds}`);
  reply.header('ratelimit-limit', String(quota));
  reply.header('ratelimit-remaining', String(remaining));
  reply.header('ratelimit-reset', String(reset_seconds));
}
