import type { Model } from '../../src/core/catalog/catalog.ts';
import { addedValue } from './bill.ts';

/** The ways in which a caller can use a chat row, or abuse it. */

type Json = Record<string, unknown>;

export interface ChatAbuse {
  name: string;
  body: (row: Model) => Json;
  /** The caller leaves after so many events of the reply; null: it reads to the end. */
  leaves: number | 'never reads' | null;
  /** The vendor ends without a usage. */
  silent?: true;
  /** The service may refuse the call, which costs nobody anything. */
  refusable?: true;
}

export const visible = ['ANSWER', ' 42', ' and', ' so', ' on'];
const max_tokens = 2_000;
const asked = (content: unknown, more: Json = {}): Json => ({
  messages: [{ role: 'user', content }],
  max_tokens,
  stream: true,
  ...more,
});
const question = asked('what is the answer?');
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = (detail: string) => ({ type: 'image_url', image_url: { url: pixel, detail } });
const withPart = (type: string, own: Json) =>
  asked([
    { type: 'text', text: 'what is in it?' },
    { type, [type]: own },
  ]);
const pages = `%PDF-1.4\n${'<< /Type /Page >>\n'.repeat(1_000)}%%EOF`;
const pdf = `data:application/pdf;base64,${Buffer.from(pages).toString('base64')}`;
/** Asks the vendor to keep the cache for an hour, which costs twice the input. */
const kept = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const tool = {
  ...kept,
  type: 'function',
  function: { ...kept, name: 'f', description: 'does it '.repeat(400), parameters: {} },
};

/** The same tool described in digits, each of which is billed as a token. */
const digits = { ...tool, function: { ...tool.function, description: '7'.repeat(40_000) } };

/** Fields with which vendors do more, or in another way. */
const costly = (
  'plugins web_search_options web_search models provider route transforms service_tier ' +
  'prediction modalities audio store background best_of num_completions ' +
  'cache_control prompt_cache_retention speed priority'
).split(' ');
const added = {
  ...Object.fromEntries(costly.map((field) => [field, addedValue])),
  reasoning: { effort: 'high', max_tokens: 1_000_000, wait: addedValue },
  thinking: { type: 'enabled', budget_tokens: 1_000_000, tier: addedValue },
};

export const chatAbuses: readonly ChatAbuse[] = [
  { name: 'reads to the end', body: () => question, leaves: null },
  { name: 'whole reply', body: () => ({ ...question, stream: false }), leaves: null },
  { name: 'leaves before the first byte', body: () => question, leaves: 0 },
  {
    name: 'leaves before a whole reply',
    body: () => ({ ...question, stream: false }),
    leaves: 0,
  },
  ...visible.map((_, i): ChatAbuse => {
    const name = `leaves after event ${i + 1}`;
    return { name, body: () => question, leaves: i + 1 };
  }),
  { name: 'never reads', body: () => question, leaves: 'never reads' },
  { name: 'leaves, and no usage comes', body: () => question, leaves: 2, silent: true },
  {
    name: 'long prompt in a rare script, leaves',
    body: (row) => asked('\u{13000}'.repeat(Math.min(20_000, row.context_tokens / 8))),
    leaves: 1,
  },
  {
    name: 'long prompt of digits, leaves, no usage',
    body: (row) => asked('7'.repeat(Math.min(40_000, row.context_tokens / 2))),
    leaves: 1,
    silent: true,
  },
  {
    name: 'longer prompt than the row has',
    body: (row) => asked('7'.repeat(row.context_tokens + 50_000)),
    leaves: null,
    refusable: true,
  },
  { name: 'unknown fields', body: () => ({ ...question, ...added }), leaves: null },
  {
    name: 'pictures in full detail',
    body: () => asked(Array.from({ length: 10 }, () => picture('high'))),
    leaves: null,
    refusable: true,
  },
  {
    name: 'pictures in their original detail',
    body: () => asked(Array.from({ length: 10 }, () => picture('original'))),
    leaves: null,
    refusable: true,
  },
  {
    name: 'a PDF of 1,000 pages',
    body: () => withPart('file', { filename: 'a.pdf', file_data: pdf }),
    leaves: null,
    refusable: true,
  },
  {
    name: 'sound',
    body: () => withPart('input_audio', { data: 'A'.repeat(64_000), format: 'mp3' }),
    leaves: null,
    refusable: true,
  },
  {
    name: 'tools kept at the vendor',
    body: () => ({ ...question, max_tokens: 1, tools: [tool] }),
    leaves: null,
  },
  {
    name: 'tools kept at the vendor, leaves, no usage',
    body: () => ({ ...question, max_tokens: 1, tools: [digits] }),
    leaves: 1,
    silent: true,
  },
];
