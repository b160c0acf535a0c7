import type { FastifyReply } from 'fastify';
import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import { samplePath } from '../../core/catalog/sample.ts';
import { ApiError } from '../../core/errors.ts';
import { parseFileId } from '../../core/request/file-id.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as callers from '../../db/accounts/callers.ts';
import { findOrMakeStudioKey } from '../../operations/accounts/key.ts';
import { setRateHeaders, tooManyCalls } from '../auth.ts';
import { quoteCall } from '../api/chat/call-model.ts';
import type { HttpDeps, KeyedRequest } from '../deps.ts';
import { sendFile } from '../api/files.ts';
import { ChatRequest } from '../api/chat/chat-schema.ts';
import { Estimate, Model } from '../api/model-schema.ts';
import type { WithParams } from '../path.ts';
import * as s from '../schemas/schema.ts';
import { bodyOf } from '../schemas/serialize.ts';
import { sessionEndpoint, type Endpoint } from '../endpoint.ts';
import { keyBounds } from '../keys.ts';
import { throttle } from './throttle.ts';
import type { SessionRequest, WebDeps } from './session-request.ts';

type Call<T> = (req: KeyedRequest, reply: FastifyReply, deps: HttpDeps) => Promise<T>;

/**
 * A call of the API by a signed-in person. It spends as the account's studio key, and is refused if
 * the account is suspended.
 */
export async function studioCall(
  call: Call<unknown>,
  req: SessionRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const hash = await findOrMakeStudioKey(deps.db, req.account_id, keyBounds(deps));
  const caller = await deps.operations.authenticate(hash);
  // A studio key never lapses.
  if (!caller || 'lapsed' in caller || !caller.active) throw suspended();
  setRateHeaders(reply, caller.rate);
  if (!caller.rate.granted) throw tooManyCalls(caller.rate);
  return call(keyed(req, caller), reply, deps);
}

/**
 * A call that spends nothing. Each person has a separate rate limit for these calls, so that people
 * who only read do not use up the calls of people who spend.
 */
export async function studioRead<T>(
  call: Call<T>,
  req: SessionRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<T> {
  const { db, settings } = deps;
  const { person_id } = req.session;
  await throttle(deps, 'studio-look', person_id, { max: settings.FAREBOX_RPM, seconds: 60 });
  let caller = await keys.findStudioSpender(db, req.account_id);
  if (!caller) {
    await findOrMakeStudioKey(db, req.account_id, keyBounds(deps));
    caller = await keys.findStudioSpender(db, req.account_id);
  }
  // A suspended account may still read.
  return call(keyed(req, caller!), reply, deps);
}

function keyed(req: SessionRequest, caller: callers.Spender): KeyedRequest {
  const { grant } = req;
  if (!grant) throw new Error('calls of the studio are made inside an account');
  const { person_id } = req.session;
  return Object.assign(req, { caller: { ...caller, person_id }, grant });
}

function suspended(): ApiError {
  return new ApiError('forbidden', {
    message: 'This account is suspended. Ask the operator.',
    reason: 'account_suspended',
  });
}

/** GET /studio/allowance: everything that decides whether the next request can be paid. */
export const allowance = sessionEndpoint(
  {
    reply: s.namedObject('Allowance', {
      available_usd_micro: s.microUsd(),
      reserved_usd_micro: s.microUsd(),
      limit_usd_micro: s.nullable(s.microUsd("The studio key's monthly limit.")),
      spent_usd_micro: s.microUsd(),
      resets_at: s.nullable(s.time()),
      open_jobs: s.integer(),
      open_jobs_limit: s.integer(),
      upload_max_bytes: s.integer(),
    }),
  },
  async ({ req }, { db, settings }) => {
    const account = (await accounts.find(db, req.account_id))!;
    const key = await keys.readStudioSpending(db, req.account_id);
    return {
      ...account,
      limit_usd_micro: key?.monthly_limit_usd_micro ?? null,
      spent_usd_micro: key?.spent_usd_micro ?? 0n,
      resets_at: key?.resets_at ?? null,
      open_jobs: key?.open_requests ?? 0,
      open_jobs_limit: key?.open_jobs ?? settings.FAREBOX_OPEN_JOBS,
      upload_max_bytes: settings.FAREBOX_UPLOAD_MAX_BYTES,
    };
  },
);

const samples = s.record(s.text(), 'Paths of pictures that show what models make, by model id.');

/** GET /studio/models: the catalog at the prices that this account pays. */
export const models = sessionEndpoint(
  { reply: s.object({ data: s.list(Model), samples }) },
  async ({ req }, { db, catalog, runTimes }) => {
    const { price_ppm } = (await accounts.find(db, req.account_id))!;
    const times = await runTimes();
    const all = [...catalog().models.values()];
    const paths = all.flatMap((model) => {
      const path = samplePath(model);
      return path === null ? [] : [[model.id, path] as const];
    });
    return {
      data: all.map((model) => catalogEntry(model, price_ppm, times.get(model.id) ?? null)),
      samples: Object.fromEntries(paths),
    };
  },
);

const { kind: _kind, unknown_inputs: _unknown, ...priced } = Estimate.properties;
const ChatPrice = s.namedObject('ChatPrice', { ...priced, max_tokens: s.integer() });

/** POST /studio/chat-price: the most that a chat call can cost. */
export const chatPrice: Endpoint<SessionRequest, WebDeps> = {
  shapes: { body: ChatRequest, reply: ChatPrice },
  // The body is read in the same way as a chat call's.
  handle: async (req, reply, deps) =>
    bodyOf(reply, ChatPrice, await studioRead(quoteCall, req, reply, deps)),
};

/** GET /v1/files/:file_id: an uploaded file of the account, to be shown in the page. */
export function ownFile(
  req: WithParams<{ file_id: string }, SessionRequest>,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  return sendFile(req, reply, parseFileId(req.params.file_id), req.account_id, deps);
}
