import type { FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { isObject, parseJson } from '../lib/json.ts';
import { bodyStream, collect, readInShare } from './body.ts';
import type { ShareDeps } from './deps.ts';
import { isSessionRequest } from './session/session-request.ts';

const bodyMaxBytes = 64 * 1024;
const shape = { depth: 16, values: 10_000 };

/** The JSON object of a call's body; an empty one if there is none. */
export async function readJsonForm(
  req: FastifyRequest,
  deps: ShareDeps,
): Promise<Record<string, unknown>> {
  const bytes = await readBytes(req, deps);
  if (bytes.length === 0) return {};
  if (!/^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? '')) {
    throw new ApiError('unsupported_media_type', {
      message: 'Send the body as application/json.',
      param: 'content-type',
    });
  }
  const value = parseJson(bytes, shape);
  if (isObject(value)) return value;
  throw new ApiError('bad_request', { message: 'The body must be a JSON object.' });
}

function readBytes(req: FastifyRequest, deps: ShareDeps): Promise<Buffer> {
  if (req.method === 'GET' || req.method === 'HEAD') return Promise.resolve(Buffer.alloc(0));
  const stream = bodyStream(req);
  const { bodyMs, strangerBodyMs } = deps.settings.times;
  const ofKey = req.operator?.by.operator_key_id ?? req.caller?.account_id ?? null;
  const owner = isSessionRequest(req) ? req.session.person_id : ofKey;
  if (owner === null) return collect(stream, strangerBodyMs, bodyMaxBytes);
  return readInShare(owner, deps, () => collect(stream, bodyMs, bodyMaxBytes));
}
