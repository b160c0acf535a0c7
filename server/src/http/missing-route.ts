import type { FastifyRequest } from 'fastify';
import { nearest } from '../lib/nearest.ts';
import { falOffer, speaksFal } from './fal/refusal.ts';

/** The messages for calls that other services have and this one does not. */

const texts =
  'Text models answer at POST /v1/chat/completions, /v1/responses and /v1/messages; GET /v1/models lists all models.';
const queue =
  'use POST /v1/queue/{model_id}; GET /v1/models?kind=image and ?kind=video list the models.';
const videos =
  'POST /v1/videos makes a video from a prompt and a picture. For a model that changes videos, use POST /v1/queue/{model_id}.';
const conversation = 'Send the whole conversation with each call';

/**
 * The way to go instead of a call: by the beginning of its path, or by its method and whole path;
 * `*` is any segment. The first row that fits counts.
 */
const notOffered: [call: string, instead: string][] = [
  ['/v1/messages/batches', 'use POST /v1/messages for each request of the batch.'],
  ['/v1/complete', 'use POST /v1/messages.'],
  ['/v1/completions', 'use POST /v1/chat/completions.'],
  ['/v1/edits', 'use POST /v1/chat/completions.'],
  ['/v1/images/variations', 'use POST /v1/images/edits.'],
  ['/v1/videos/*/remix', videos],
  ['/v1/videos/edits', videos],
  ['/v1/videos/extensions', videos],
  ['/v1/videos/characters', videos],
  ['/v1/predictions', queue],
  ['/v1/embeddings', `there are no embedding models. ${texts}`],
  ['/v1/rerank', `there are no reranking models. ${texts}`],
  ['/v1/moderations', `there are no moderation models. ${texts}`],
  ['/v1/audio', `speech and transcription are not sold. ${texts}`],
  ['/v1/realtime', 'use POST /v1/chat/completions with "stream": true.'],
  [
    '/v1/batches',
    'send each request by itself: POST /v1/chat/completions or /v1/queue/{model_id}.',
  ],
  ['/v1/fine_tuning', `models cannot be trained. ${texts}`],
  ['/v1/evals', `nothing is evaluated or stored. ${texts}`],
  ['/v1/uploads', 'POST /v1/files takes a file in one piece.'],
  ['/v1/vector_stores', 'put what the model needs into its messages: POST /v1/chat/completions.'],
  ['/v1/containers', 'put what the model needs into its messages: POST /v1/chat/completions.'],
  ['/v1/skills', 'put what the model needs into its messages: POST /v1/chat/completions.'],
  ['/v1/assistants', `assistants are not stored. ${conversation}: POST /v1/responses.`],
  ['/v1/threads', `threads are not stored. ${conversation}: POST /v1/responses.`],
  ['/v1/conversations', `conversations are not stored. ${conversation}: POST /v1/responses.`],
  ['/v1/responses/input_tokens', 'POST /v1/messages/count_tokens counts tokens.'],
  ['/v1/responses/compact', `use POST /v1/responses with a shorter input.`],
  ['/v1/responses/*', `responses are not stored. ${conversation}: POST /v1/responses.`],
  ['GET /v1/responses', `responses are not stored. ${conversation}: POST /v1/responses.`],
  [
    '/v1/chat/completions/*',
    'chat completions are not stored. GET /v1/requests lists calls and their charges.',
  ],
  [
    'GET /v1/chat/completions',
    'chat completions are not stored. GET /v1/requests lists calls and their charges.',
  ],
  ['GET /v1/files', 'files are not listed. Keep the file_id of each upload.'],
  ['DELETE /v1/files/*', 'each file is deleted at its expires_at.'],
  ['/v1/files/*/content', 'GET /v1/files/{file_id} gives the bytes of a file.'],
  ['/v1/credits', 'GET /v1/balance shows what can be spent.'],
  ['/v1/key', 'GET /v1/balance shows what can be spent and the limits of the key.'],
  ['/v1/auth/key', 'GET /v1/balance shows what can be spent and the limits of the key.'],
  ['/v1/dashboard/billing', 'GET /v1/balance shows what can be spent, GET /v1/usage what was.'],
  ['/v1/organization', 'GET /v1/usage adds up requests, tokens and charges.'],
  ['/v1/generation', 'GET /v1/requests/{request_id} shows a call and its charge.'],
];

/** The message about a call that other services have; null for any other call. */
export function notOfferedAt(method: string, path: string): string | null {
  const steps = path.split('/');
  const found = notOffered.find(([call]) => {
    const [start = '', only] = call.split(' ').toReversed();
    const wanted = start.split('/');
    if (only !== undefined && (only !== method || wanted.length !== steps.length)) return false;
    return wanted.every((step, at) => (step === '*' ? steps[at] : step === steps[at]));
  });
  return found ? `${path} is not offered; ${found[1]}` : null;
}

/** The message for an address without a route. `known`: the addresses of the mounted routes. */
export function noRouteMessage(req: FastifyRequest, known: readonly string[]): string {
  const path = req.url.split('?')[0]!.slice(0, 200);
  if (speaksFal(req)) return `There is nothing at ${path}. ${falOffer(path)}`;
  const full = `/v1/${path.replace(/^(\/+v1(?=\/|$))+/, '').replace(/^\/+|\/+$/g, '')}`;
  if (/^\/+(v1\/*)+$/.test(path))
    return '/v1 is the base address. GET /v1/models lists the models, GET /v1/openapi.json the routes.';
  const other = notOfferedAt(req.method, full);
  if (other !== null) return other;
  const meant = full !== path && known.some((url) => patternOf(url).test(full));
  const guess = meant ? full : nearest(full, known.filter(isPlain));
  const hint = guess === null ? 'GET /v1/openapi.json lists the routes.' : `Did you mean ${guess}?`;
  return `There is nothing at ${path}. ${hint}`;
}

function isPlain(url: string): boolean {
  return url.startsWith('/v1/') && !/[:*]/.test(url);
}

function patternOf(url: string): RegExp {
  const steps = url.split('/').map((step) => {
    if (step === '*') return '.+';
    return step.startsWith(':') ? '[^/]+' : step.replaceAll('.', '\\.');
  });
  return new RegExp(`^${steps.join('/')}$`);
}
