import { Farebox } from '../index.ts';
import { connection, needKey } from './settings.ts';

/** The library, with the key and the address that hold now. */
export function keyed(): Farebox {
  return new Farebox(needKey());
}

/** For what needs no key: the catalog. */
export function open(): Farebox {
  const { baseUrl, apiKey } = connection();
  return new Farebox({ baseUrl, ...(apiKey && { apiKey }) });
}
