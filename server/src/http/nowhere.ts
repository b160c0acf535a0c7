import type { FastifyRequest } from 'fastify';
import { nearest } from '../lib/nearest.ts';
import { falOffer, speaksFal } from './fal/refusal.ts';

/** The message for a call of an unknown address. */

const chat = 'use POST /v1/chat/completions.';
const queue =
  'use POST /v1/queue/{model_id}; GET /v1/models?kind=image and ?kind=video list the models.';
const none = 'GET /v1/openapi.json lists what is offered.';

/** Calls of other services that stock tools try, by the beginning of their path. */
const notOffered: [path: string, instead: string][] = [
  ['/v1/messages/batches', 'use POST /v1/messages for each request of the batch.'],
  ['/v1/completions', chat],
  ['/v1/images/variations', 'use POST /v1/images/edits.'],
  ['/v1/videos', queue],
  ['/v1/predictions', queue],
  ['/v1/embeddings', none],
  ['/v1/rerank', none],
  ['/v1/audio', none],
  ['/v1/moderations', none],
  ['/v1/batches', none],
  ['/v1/assistants', none],
  ['/v1/threads', none],
  ['/v1/realtime', none],
];

/** `known`: the addresses of the mounted routes. */
export function nothingAt(req: FastifyRequest, known: readonly string[]): string {
  const path = req.url.split('?')[0]!.slice(0, 200);
  if (speaksFal(req)) return `There is nothing at ${path}. ${falOffer(path)}`;
  const full = `/v1/${path.replace(/^(\/+v1(?=\/|$))+/, '').replace(/^\/+|\/+$/g, '')}`;
  const other = notOffered.find(([start]) => full === start || full.startsWith(`${start}/`));
  if (other) return `${full} is not offered; ${other[1]}`;
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
