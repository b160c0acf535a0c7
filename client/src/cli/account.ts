import { Farebox, FareboxError, type Retry } from '../index.ts';
import { connection, needKey } from './settings.ts';
import { clearLine, say } from './terminal/terminal.ts';

/** The library with the current key and address. Throws if there is no key. */
export function keyed(context: { quiet: boolean }): Farebox {
  needKey();
  return open(context);
}

/** The library for calls that work without a key: the catalog. */
export function open({ quiet }: { quiet: boolean }): Farebox {
  const { baseUrl, apiKey } = connection();
  return new Farebox({
    baseUrl,
    ...(apiKey && { apiKey }),
    onRetry: quiet ? undefined : tellOfWait,
  });
}

/** Adds the ids that a call is about to its error, so that the hint can name them. */
export function about<T>(
  ids: { request_id?: string; model_id?: string },
  call: Promise<T>,
): Promise<T> {
  return call.catch((error: unknown) => {
    if (error instanceof FareboxError) Object.assign(error.details, { ...ids, ...error.details });
    throw error;
  });
}

/** A shorter wait needs no explanation. */
const waitLeastMs = 2_000;

function tellOfWait({ error, waitMs }: Retry): void {
  if (waitMs < waitLeastMs) return;
  const why = error.status === 429 ? 'limits the rate of calls' : 'cannot answer now';
  clearLine();
  say('dim', `The service ${why}; trying again in ${Math.round(waitMs / 1000)} s`);
}
