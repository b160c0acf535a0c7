/** Replies of a text model. */
import { completion } from '../../../server/test/kit/fake.ts';
import { delta, usageChunk } from '../../../server/test/kit/tap.ts';

export async function* words(...texts: string[]) {
  for (const text of texts) yield delta(text);
  yield usageChunk(5, 2);
}

export const whole = {
  outcome: 'reply',
  reply: completion('Hello', { prompt_tokens: 5, completion_tokens: 2 }),
} as const;
