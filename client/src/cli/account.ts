import { Farebox, type Retry } from '../index.ts';
import { connection, needKey } from './settings.ts';
import { clearLine, say } from './terminal.ts';

/** The library, with the key and the address that hold now. */
export function keyed({ quiet }: { quiet: boolean }): Farebox {
  return new Farebox({ ...needKey(), onRetry: quiet ? undefined : tellOfWait });
}

/** For what needs no key: the catalog. */
export function open({ quiet }: { quiet: boolean }): Farebox {
  const { baseUrl, apiKey } = connection();
  return new Farebox({
    baseUrl,
    ...(apiKey && { apiKey }),
    onRetry: quiet ? undefined : tellOfWait,
  });
}

/** Nobody wonders about a shorter one. */
const waitLeastMs = 2_000;

function tellOfWait({ error, waitMs }: Retry): void {
  if (waitMs < waitLeastMs) return;
  const why = error.status === 429 ? 'limits the rate' : 'cannot answer now';
  clearLine();
  say('dim', `The service ${why}; trying again in ${Math.round(waitMs / 1000)} s`);
}
