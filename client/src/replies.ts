import { FareboxError } from './error.ts';
import { withAmounts } from './money.ts';
import type { Scope } from './scope.ts';
import { codeOf, fieldOf, fromJson } from './unknown.ts';
import type { ErrorBody } from './types.ts';

/** Reads replies of the service, as a value or as an error. */

/** A reply whose body has not been read yet. Its reader ends the scope. */
export interface OpenResponse {
  response: Response;
  scope: Scope;
}

/** Whether the service itself advises a retry (`x-should-retry`). */
export const advice = new WeakMap<FareboxError, boolean>();

export function reasonFor(error: unknown): string {
  const code = codeOf(fieldOf(error, 'cause')) || codeOf(error);
  return code === '' ? '' : ` (${code})`;
}

export function readJson<T>(text: string, response: Response): T {
  try {
    return fromJson<T>(text);
  } catch (error) {
    throw unexpected(response, 'with something that is not JSON', error);
  }
}

export async function refusal(response: Response): Promise<FareboxError> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    return unexpected(
      response,
      'with a redirect, which is not followed because the call has a key',
    );
  }
  const text = await response.text();
  let error: ErrorBody['error'] | undefined;
  try {
    error = fromJson<Partial<ErrorBody>>(text).error;
  } catch {
    // Not JSON: probably a proxy's page.
  }
  if (typeof error?.code !== 'string') return unexpected(response, `with status ${status}`);
  return errorFrom(error, status, headers);
}

export function errorFrom(
  { code, message, type, param, request_id, details }: ErrorBody['error'],
  status: number | null,
  headers?: Headers,
): FareboxError {
  const retryAfterSeconds = retryAfterOf(headers);
  const should = headers?.get('x-should-retry');
  const error = new FareboxError(code, message, {
    status,
    type,
    callId: request_id,
    param,
    details: withAmounts(details ?? {}),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
  if (should) advice.set(error, should === 'true');
  return error;
}

function unexpected(response: Response, how: string, cause?: unknown): FareboxError {
  const { status, headers } = response;
  const retryAfterSeconds = retryAfterOf(headers);
  return new FareboxError(
    'unexpected_reply',
    `The address answered ${how}. Check baseUrl: it should end in /v1.`,
    {
      status: status || null,
      callId: headers.get('x-request-id'),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      cause,
    },
  );
}

export function retryAfterOf(headers: Headers | undefined): number | undefined {
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text)
    ? Number(text)
    : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** Yields a reply's bytes. Throws if `silenceMs` pass between two chunks. */
export async function* chunksOf(
  { response, scope }: OpenResponse,
  silenceMs: number,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return;
      scope.alive(silenceMs);
      yield value!;
    }
  } catch (error) {
    if (scope.signal.aborted) throw scope.signal.reason;
    if (error instanceof FareboxError) throw error;
    throw new FareboxError(
      'connection_error',
      `The connection broke in mid-reply${reasonFor(error)}.`,
      { cause: error },
    );
  } finally {
    scope.end();
    // If the caller stops reading early, this ends the connection.
    scope.abort();
  }
}
