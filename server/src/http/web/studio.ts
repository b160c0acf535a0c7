import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { studioKey } from '../../operations/key.ts';
import { setRateHeaders, tooManyCalls } from '../auth.ts';
import type { HttpDeps, Keyed, KeyedHandler } from '../deps.ts';
import type { Visit, WebDeps } from './visit.ts';

type Call = (...call: [...Parameters<KeyedHandler>, HttpDeps]) => Promise<unknown>;

/** A call of the API by somebody who is signed in: it spends as the account's studio key. */
export async function studioCall(
  call: Call,
  visit: Visit,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const hash = await studioKey(deps.db, visit.account_id);
  const caller = await deps.authenticate(hash);
  // A studio key never lapses.
  if (!caller || 'lapsed' in caller || !caller.active)
    throw new ApiError('forbidden', { message: 'This account is suspended. Ask the operator.' });
  setRateHeaders(reply, caller.rate);
  if (!caller.rate.granted) throw tooManyCalls(caller.rate);
  const keyed = Object.assign(visit, { caller }) as unknown as Keyed;
  return call(keyed, reply, deps);
}
