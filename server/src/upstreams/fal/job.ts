import type { Handle } from '../upstream.ts';
import type { Fal } from './wire.ts';

export interface FalJob {
  request_id: string;
  /** The endpoint that the job was submitted to. */
  model: string;
  status_url: string;
  response_url: string;
  cancel_url: string;
}

const requestIdForm = /^[A-Za-z0-9_-]{1,100}$/;
const urlLengthMax = 1000;

export function isRequestId(value: unknown): value is string {
  return typeof value === 'string' && requestIdForm.test(value);
}

/**
 * The job in a submit's reply or in a handle; null if there is none. The given addresses are used
 * only if they have the definition's origin, because our key is sent there; otherwise they are
 * built by fal's rule. This also keeps old jobs reachable after the definition's address has
 * changed.
 */
export function jobOf(fal: Fal, given: Handle, model: unknown = given.model): FalJob | null {
  const { request_id } = given;
  if (!isRequestId(request_id) || typeof model !== 'string' || model === '') return null;
  const own = `${fal.base}/${appOf(model)}/requests/${request_id}`;
  const { origin } = new URL(fal.base);
  const take = (url: unknown, otherwise: string): string => {
    if (typeof url !== 'string' || url.length > urlLengthMax || !URL.canParse(url))
      return otherwise;
    return new URL(url).origin === origin ? url : otherwise;
  };
  return {
    request_id,
    model,
    status_url: take(given.status_url, `${own}/status`),
    response_url: take(given.response_url, own),
    cancel_url: take(given.cancel_url, `${own}/cancel`),
  };
}

/** `fal-ai/flux/dev` → `fal-ai/flux`: a job's address contains only the app. */
function appOf(model: string): string {
  const steps = model.split('/');
  const isNamespaced = steps[0] === 'workflows' || steps[0] === 'comfy';
  return steps.slice(0, isNamespaced ? 3 : 2).join('/');
}
