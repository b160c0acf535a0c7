import type { ApiError, ErrorCode } from '../errors.ts';
import type { Links, StatusView } from './views.ts';
import { itemsOf, objectOf } from '../../lib/json.ts';

/** Our answers in the format of fal's queue, for fal's own client. Pure. */

/** Ids that begin with one of these words keep three segments in fal's paths, all others two. */
const namespaces = new Set(['workflows', 'comfy']);

/** Base address of the routes for fal's client, next to /v1. */
export function falBase({ baseUrl }: Pick<Links, 'baseUrl'>): string {
  return baseUrl.replace(/\/v1$/, '/fal');
}

/** The addresses of a request. fal's paths contain only the first segments of a model's id. */
export function falAddresses(requestId: string, modelId: string, links: Links) {
  const steps = modelId.split('/');
  const app = steps.slice(0, namespaces.has(steps[0]!) ? 3 : 2).join('/');
  const response_url = `${falBase(links)}/queue.fal.run/${app}/requests/${requestId}`;
  return {
    response_url,
    status_url: `${response_url}/status`,
    cancel_url: `${response_url}/cancel`,
  };
}

/**
 * fal knows only three states: FAILED and CANCELLED are shown as COMPLETED, and fetching the result
 * then gives the error. `logs`: the lines to show; when each was written is unknown.
 */
export function falStatus(told: StatusView, logs: readonly string[], links: Links) {
  const { request_id, model_id, status, queue_position, metrics, started_at, created_at } = told;
  const timestamp = started_at ?? created_at;
  const isQueued = status === 'IN_QUEUE';
  const isRunning = status === 'IN_PROGRESS';
  const runMs = metrics?.run_ms;
  return {
    status: isQueued || isRunning ? status : ('COMPLETED' as const),
    request_id,
    ...falAddresses(request_id, model_id, links),
    ...(isQueued && { queue_position: queue_position ?? 0 }),
    ...(!isQueued && {
      logs: logs.map((message) => ({ message, level: 'INFO', source: 'USER', timestamp })),
    }),
    ...(status === 'COMPLETED' && {
      metrics: { inference_time: runMs === undefined ? null : runMs / 1000 },
    }),
    ...(told.error && { error: told.error.message, error_type: told.error.code }),
    ...(status === 'CANCELLED' && { error: cancelledText(told), error_type: 'client_cancelled' }),
  };
}

/** The lines of `now` that have not been shown yet. Each list may have lost its oldest lines. */
export function newLines(shown: readonly string[], now: readonly string[]): string[] {
  let kept = Math.min(shown.length, now.length);
  while (kept > 0 && shown.slice(-kept).some((line, i) => line !== now[i])) kept--;
  return now.slice(kept);
}

interface Fault {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** Codes for which fal uses another status; its client turns 422 into a ValidationError. */
const statuses: Partial<Record<ErrorCode, number>> = {
  invalid_input: 422,
  unpriceable: 422,
  unknown_model: 404,
  request_not_ready: 400,
  not_cancellable: 400,
};

/** The charge of a job that was stopped while it ran is on its card only. */
function cancelledText({ cancel_requested_at }: StatusView): string {
  const text = 'The request was cancelled.';
  return cancel_requested_at ? text : `${text} Nothing was charged.`;
}

/** The error as fal would send it. The HTTP layer adds our own error to the body. */
export function falRefusal(error: ApiError): {
  status: number;
  body: { message: string; detail: string | Fault[] };
} {
  const { code, message, param, details } = error;
  const { code: failed, message: why } = objectOf(details?.error);
  if (code === 'request_not_ready' && typeof failed === 'string' && typeof why === 'string') {
    const isInput = failed === 'upstream_rejected';
    const fault = { loc: ['body'], msg: why, type: failed };
    return {
      status: isInput ? 422 : 500,
      body: { message: why, detail: isInput ? [fault] : why },
    };
  }
  if (code === 'request_not_ready' && details?.status === 'CANCELLED')
    return { status: 499, body: { message, detail: message } };
  const status = statuses[code] ?? error.status;
  if (status !== 422) return { status, body: { message, detail: message } };
  const faults = itemsOf(details?.errors).map((fault): Fault => {
    const { path, message: msg } = objectOf(fault);
    return { loc: locOf(String(path)), msg: String(msg), type: code };
  });
  const loc = ['body', ...(param === null ? [] : [param])];
  const detail = faults.length > 0 ? faults : [{ loc, msg: message, type: code }];
  return { status, body: { message, detail } };
}

/** The segments of a JSON pointer, with list positions as numbers. */
function locOf(pointer: string): (string | number)[] {
  const steps = pointer.split('/').slice(1);
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return ['body', ...names.map((name) => (/^\d+$/.test(name) ? Number(name) : name))];
}
