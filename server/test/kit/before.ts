import { before as hook } from 'node:test';

let earlier: Promise<unknown> = Promise.resolve();

/**
 * A hook that waits for the ones before it. Those of `node:test` begin all at once at the top of a
 * file that runs alone.
 */
export function before(work: () => unknown): void {
  hook(() => (earlier = earlier.catch(() => {}).then(work)));
}
