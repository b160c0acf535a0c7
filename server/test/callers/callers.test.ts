import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { toldTo, type ApiName, type SentCall } from './sent.ts';

/**
 * Calls as programs write them, at the door of each API: what an upstream of each API is told, what
 * is named as ignored, or which field is refused. Nothing is lost without a word.
 */

interface Row {
  what: string;
  /** A public report, as `owner/repo#number`. */
  source?: string;
  door: ApiName;
  body: Record<string, unknown>;
  /** Told to upstreams of every API, beside what each is told alone. */
  gives?: SentCall;
  completions?: SentCall;
  messages?: SentCall;
  responses?: SentCall;
}

const folder = join(import.meta.dirname, 'rows');
const apis = ['completions', 'messages', 'responses'] as const;

for (const file of readdirSync(folder).toSorted())
  describe(file.replace('.ndjson', ''), () => {
    const lines = readFileSync(join(folder, file), 'utf8').trim().split('\n');
    for (const { what, source, door, body, gives, ...own } of lines.map((line): Row =>
      JSON.parse(line),
    ))
      for (const api of apis)
        test(`${what}: ${door} to ${api}${source === undefined ? '' : ` (${source})`}`, () => {
          // The other tools of a row say nothing new.
          const { more: { tools, ...more } = {}, ...told } = toldTo(api, door, body);
          const wanted = { ...gives, ...own[api] };
          const all = { ...more, ...(wanted.more?.tools !== undefined && { tools }) };
          const isMore = Object.keys(all).length > 0;
          assert.deepEqual({ ...told, ...(isMore && { more: all }) }, wanted);
        });
  });
