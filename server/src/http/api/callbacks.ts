import { ApiError } from '../../core/errors.ts';
import { routeTo } from '../../core/request/routing.ts';
import { verifyCallback } from '../../core/request/signature.ts';
import { findKeyOfAttempt } from '../../db/requests/request-lists.ts';
import { isUuid } from '../../lib/id.ts';
import { byKey, keyNames } from '../../upstreams/keys.ts';
import { CallbackRefused } from '../../upstreams/upstream.ts';
import { bodyStream, collect } from '../body.ts';
import type { OpenChatDeps, RequestDeps } from '../deps.ts';
import { openEndpoint } from '../endpoint.ts';
import { Health } from './ops.ts';

const bodyMaxBytes = 4 * 1024 * 1024;
/** Time limit for verifying a call, which may need the upstream's public keys. */
const proofMs = 10_000;

const shapes = { params: ['upstream', 'request_id', 'attempt', 'sig'], reply: Health } as const;

/**
 * POST /callbacks/{upstream}/{request_id}/{attempt}/{sig}: an upstream reports on a job of ours.
 * The call makes the next poll due, and may name the job if the answer to its start was lost.
 * Repeated, late and reordered calls do no harm.
 */
export const receive = openEndpoint(shapes, async ({ req }, deps: RequestDeps & OpenChatDeps) => {
  const { upstream: name, request_id, attempt: text, sig } = req.params;
  const attempt = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  const link = { upstream: name, request_id, attempt };
  const known = deps.upstreams.get(name);
  // Unknown and forged addresses get the same 404.
  // guard: callback-is-signed
  if (!isUuid(request_id) || !verifyCallback(deps.secrets, link, sig) || !known?.callback)
    throw new ApiError('not_found');
  const isKeyed = keyNames(known).length > 0;
  const key = isKeyed ? await findKeyOfAttempt(deps.wholeDb, request_id, attempt) : null;
  const upstream = byKey(known, key);
  if (!upstream?.callback) throw new ApiError('not_found');
  const body = await collect(bodyStream(req), deps.settings.times.bodyMs, bodyMaxBytes);
  const headers: Record<string, string> = {};
  for (const [header, value] of Object.entries(req.headers))
    headers[header] = Array.isArray(value) ? value[0]! : (value ?? '');
  const signal = AbortSignal.timeout(proofMs);
  const model = await modelOf(request_id, name, deps);
  const handle = await upstream
    .callback({ model, headers, body, signal })
    .catch((cause: unknown) => {
      if (!(cause instanceof CallbackRefused)) throw cause;
      deps.log.warn({ upstream: name, request_id, err: cause }, 'callback refused');
      const message = 'The signature is not valid for this upstream, or too old.';
      throw new ApiError('unauthorized', { message, cause });
    });
  await deps.operations.calledBack({ request_id, attempt, handle });
  return { status: 'ok' as const };
});

async function modelOf(requestId: string, upstream: string, deps: RequestDeps): Promise<string> {
  const row = await deps.operations.status(requestId);
  const routes = (row && deps.catalog().models.get(row.model_id)?.upstreams) ?? [];
  return routeTo(routes, upstream, row?.upstream_model ?? null)?.model ?? '';
}
