import { addedValue, NotTaken, wordTokens } from './bill.ts';
import { chatRules } from './chat-rules.ts';

/** Computes a vendor's price of a chat from its call and its reply. */

type Json = Record<string, any>;

export interface ChatBill {
  prompt_tokens: number;
  completion_tokens: number;
  /** Whether the prompt is written to the vendor's cache. */
  is_written: boolean;
  usd: number;
}

/** Tokens of an image: in full detail, and in a detail that only the newest models know. */
const pictureTokens = { high: 2_500, original: 10_000 };

/**
 * The most that a vendor may take for a reply that shows `said`: a model that can think uses up all
 * requested tokens for it. Nobody bills a server of the operator's own. Throws `NotTaken` for a
 * prompt that is longer than the vendor takes.
 */
export function chatBillOf(upstream: string, body: Json, said: string): ChatBill {
  const rule = chatRules.find(({ of }) => of === upstream);
  const most = Number(body.max_completion_tokens ?? body.max_tokens ?? 128_000);
  const thinks = rule?.models[body.model]?.[3] === 'thinks';
  const completion_tokens = thinks ? most : Math.min(most, wordTokens(said));
  const parts = partsOf(body);
  const sounds = parts.filter(({ type }) => type === 'input_audio');
  const soundTokens = sounds.reduce((sum, { input_audio: { data } }) => sum + data.length / 32, 0);
  const pages = pagesIn(parts);
  const pageTokens = pages * (rule?.page_tokens ?? 0);
  const prompt_tokens = Math.ceil(promptOf(body, parts) + soundTokens + pageTokens);
  const text = JSON.stringify(body);
  const is_written = text.includes('cache_control');
  if (!rule) return { prompt_tokens, completion_tokens, is_written, usd: 0 };
  const rate = rule.models[body.model];
  if (!rate) throw new Error(`no rule of ${upstream} for ${body.model}: add it to chat-rules.ts`);
  const [input, output, window] = rate;
  const [takes, usual, dearer] = typeof window === 'number' ? [window, window, 1] : window;
  if (prompt_tokens > takes) throw new NotTaken(`it takes ${takes} tokens`);
  const { cache_write = 1, cache_write_hour = cache_write } = rule;
  const cacheTimes = text.includes('"ttl":"1h"') ? cache_write_hour : cache_write;
  const tokens = (prompt_tokens - soundTokens) * input * (is_written ? cacheTimes : 1);
  const sound = soundTokens * (rule.audio ?? input);
  const added = text.split(`:${addedValue}`).length - 1;
  const times = prompt_tokens > usual ? dearer : 1;
  const usd =
    ((tokens + sound + completion_tokens * output) * times) / 1e6 +
    pages * (rule.page ?? 0) +
    added;
  return { prompt_tokens, completion_tokens, is_written, usd };
}

function partsOf({ messages }: Json): Json[] {
  return messages.flatMap(({ content }: Json) => (Array.isArray(content) ? content : []));
}

/** Tokens of a prompt: its texts, its images by their detail, everything else as JSON. */
function promptOf({ messages, tools }: Json, parts: Json[]): number {
  const words = messages.map(({ content }: Json) => (typeof content === 'string' ? content : ''));
  for (const part of parts) if (part.type === 'text') words.push(part.text);
  const pictures = parts.filter(({ type }) => type === 'image_url');
  const seen = pictures.reduce((sum, { image_url: { detail } }) => {
    return sum + (detail === 'original' ? pictureTokens.original : pictureTokens.high);
  }, 0);
  return wordTokens(words.join('')) + wordTokens(JSON.stringify(tools ?? '')) + seen;
}

function pagesIn(parts: Json[]): number {
  const files = parts.filter(({ type }) => type === 'file');
  return files.reduce((sum, { file: { file_data = '' } }) => {
    const bytes = Buffer.from(file_data.split(',').pop(), 'base64').toString('latin1');
    return sum + Math.max(1, bytes.split('/Type /Page ').length - 1);
  }, 0);
}
