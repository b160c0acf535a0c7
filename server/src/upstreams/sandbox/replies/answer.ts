import { isObject, type Json } from '../../../lib/json.ts';
import { hashText, pick, randomFrom } from '../random.ts';
import { sampleOf } from './sample-json.ts';
import { lastUserText, listOf, partsOf, textOf } from './texts.ts';
import { toolResults } from './tools.ts';
import { countTokens } from './tokens.ts';

/** The sandbox's answer: a few sentences that show the input it received. */

const messageTokens = 4;
const imageTokens = 256;
const echoMax = 240;

/**
 * Tokens of a message list: tokens of its texts, plus four per message and 256 per image. Counting
 * stops at `enough`.
 */
export function promptTokens(messages: unknown, enough: number = Infinity): number {
  let count = 0;
  for (const message of listOf(messages)) {
    if (count >= enough) break;
    count += messageTokens + countTokens(textOf(message.content), enough - count);
    count += imageTokens * imagesIn(message);
  }
  return count;
}

/** The reply's text. The same model, messages and options give the same text. */
export function composeReply(model: string, body: Json, words: number | null): string {
  const asked = lastUserText(body.messages).trim();
  if (words !== null) return manyWords(asked, words);
  const messages = listOf(body.messages);
  const plain = plainReply(model, asked, messages);
  const format = isObject(body.response_format) ? body.response_format : {};
  if (format.type === 'json_schema' && isObject(format.json_schema))
    return JSON.stringify(sampleOf(format.json_schema.schema));
  if (format.type === 'json_object') {
    const echo = shorten(asked);
    return JSON.stringify({ sandbox: true, model, messages: messages.length, echo, reply: plain });
  }
  return plain;
}

function plainReply(model: string, asked: string, messages: Json[]): string {
  const random = randomFrom(hashText(`${model}:${asked}`));
  const opening = pick(random, [
    'Hello from the Farebox sandbox.',
    'This is the Farebox sandbox speaking.',
    'You have reached the Farebox sandbox.',
  ]);
  const words = counted(asked.split(/\s+/u).length, 'word');
  const echo =
    asked === '' ? 'Your last message holds no text.' : `You wrote ${words}: "${shorten(asked)}"`;
  const answers = toolResults(messages).map(
    ({ name, content }) => `${name} answered: "${shorten(textOf(content))}"`,
  );
  const answered = answers.length > 0 ? `\n\n${answers.join('\n')}` : '';
  const system = messages.some(({ role }) => role === 'system' || role === 'developer');
  const images = messages.reduce((sum, message) => sum + imagesIn(message), 0);
  const seen = [
    counted(messages.length, 'message'),
    ...(system ? ['a system message'] : []),
    ...(images > 0 ? [counted(images, 'image')] : []),
  ].join(', ');
  const closing = pick(random, [
    'No model was called, so the same question always gets this same answer.',
    'I am a stand-in that costs nothing to run, so that you can build before you spend.',
    'A real model would answer here; nothing else about this call would differ.',
  ]);
  return `${opening} ${echo}${answered}\n\nThe conversation has ${seen}. ${closing}`;
}

const stock = (
  'sandbox river lantern copper meadow signal harbour window paper orchard thunder silver garden ' +
  'compass winter engine'
).split(' ');

/** A text of exactly `count` words, for tests with a long reply. */
function manyWords(asked: string, count: number): string {
  const random = randomFrom(hashText(asked));
  return Array.from({ length: Math.floor(count) }, () => pick(random, stock)).join(' ');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function imagesIn({ content }: Json): number {
  return partsOf(content).filter(({ type }) => type === 'image_url').length;
}

function shorten(text: string): string {
  const line = text.replace(/\s+/gu, ' ');
  // A character has at most two UTF-16 units, so this is enough; the rest may be megabytes.
  const chars = Array.from(line.slice(0, 2 * echoMax + 2));
  return chars.length <= echoMax ? line : `${chars.slice(0, echoMax - 1).join('')}…`;
}
