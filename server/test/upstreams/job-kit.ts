import assert from 'node:assert/strict';
import type {
  Handle,
  InputFile,
  JobState,
  StartJob,
  StartOutcome,
  Upstream,
} from '../../src/upstreams/upstream.ts';

/** Jobs for an adapter without the service, and the polls until their end. */

/** A signal that is never aborted. */
export const signal = new AbortController().signal;

export function jobOf(more: Partial<StartJob> = {}): StartJob {
  const input = more.input ?? { prompt: 'a lighthouse' };
  return {
    request_id: 'request-1',
    idempotency_key: 'key-1',
    model: 'a model',
    task: 'text-to-image',
    input,
    fields: Object.keys(input),
    files: {},
    callback_url: null,
    hold: () => {},
    inShare: (work) => work(),
    signal,
    ...more,
  };
}

/** A stored file of the caller. */
export function fileOf(bytes: Uint8Array, more: Partial<InputFile> = {}): InputFile {
  const open = async () =>
    (async function* () {
      yield bytes;
    })();
  return { content_type: 'image/png', size: bytes.length, open, ...more };
}

/** The handle of a job that was accepted. */
export function handleOf(outcome: StartOutcome): Handle {
  assert.ok(outcome.outcome === 'accepted', JSON.stringify(outcome));
  return outcome.handle;
}

/** Polls until the job is no longer running. Earlier states are added to `seen`. */
export async function ended(
  upstream: Upstream,
  handle: Handle,
  seen: JobState[] = [],
): Promise<JobState> {
  for (let look = 0; look < 10; look++) {
    const state = await upstream.poll(handle, signal);
    if (state.state !== 'running') return state;
    seen.push(state);
  }
  assert.fail('it never ends');
}

export interface Looks {
  words: string[];
  last: Extract<JobState, { state: 'done' | 'failed' | 'stopped' }> | null;
}

/** Polls until the job ends. A poll that threw is recorded by a word of its own. */
export async function looksOf(upstream: Upstream, handle: Handle, most = 6): Promise<Looks> {
  const words: string[] = [];
  for (let look = 0; look < most; look++) {
    const state = await upstream.poll(handle, signal).catch((error: Error) => error);
    words.push(state instanceof Error ? `threw ${state.message}` : state.state);
    if (state instanceof Error || state.state === 'running' || state.state === 'missing') continue;
    return { words, last: state };
  }
  return { words, last: null };
}
