import { isObject } from '../../../lib/json.ts';
import { hashText, pick, randomFrom } from '../random.ts';
import { sampleOf } from './sample-json.ts';
import { listOf, toolResults } from './tools.ts';
import { countTokens } from './tokens.ts';

/** What the sandbox answers: a few sentences that show what reached it. */

const MESSAGE_TOKENS = 4;
const IMAGE_TOKENS = 256;
const ECHO_MAX = 240;

/**
 * Tokens of a message list: its texts, four for each message, 256 for each picture. Counting stops
 * once there are `enough`.
 */
export function promptTokens(messages: unknown, enough: number = Infinity): number {
  let count = 0;
  for (const message of listOf(messages)) {
    if (count >= enough) break;
    count += MESSAGE_TOKENS + countTokens(textOf(message.content), enough - count);
    count +=
      IMAGE_TOKENS * partsOf(message.content).filter((part) => part.type === 'image_url').length;
  }
  return count;
}

/** Text of the last message of role `user`; empty where there is none. */
export function lastUserText(messages: unknown): string {
  const last = listOf(messages).findLast((message) => message.role === 'user');
  return last ? textOf(last.content) : '';
}

/** The reply's text. The same model, messages and options give the same text. */
export function composeReply(
  model: string,
  body: Record<string, unknown>,
  words: number | null,
): string {
  const asked = lastUserText(body.messages).trim();
  if (words !== null) return manyWords(asked, words);
  const messages = listOf(body.messages);
  const plain = plainReply(model, asked, messages);
  const format = isObject(body.response_format) ? body.response_format : {};
  if (format.type === 'json_schema' && isObject(format.json_schema))
    return JSON.stringify(sampleOf(format.json_schema.schema));
  if (format.type === 'json_object') {
    return JSON.stringify({
      sandbox: true,
      model,
      messages: messages.length,
      echo: shorten(asked),
      reply: plain,
    });
  }
  return plain;
}

function plainReply(model: string, asked: string, messages: Record<string, unknown>[]): string {
  const random = randomFrom(hashText(`${model}:${asked}`));
  const words = asked === '' ? 0 : asked.split(/\s+/u).length;
  const system = messages.find(({ role }) => role === 'system' || role === 'developer');
  const pictures = messages
    .flatMap(({ content }) => partsOf(content))
    .filter(({ type }) => type === 'image_url').length;
  const opening = pick(random, [
    'Hello from the Farebox sandbox.',
    'This is the Farebox sandbox speaking.',
    'You have reached the Farebox sandbox.',
  ]);
  const echo =
    asked === ''
      ? 'Your last message holds no text.'
      : `You wrote ${words} ${words === 1 ? 'word' : 'words'}: "${shorten(asked)}"`;
  const seen = [
    `${messages.length} ${messages.length === 1 ? 'message' : 'messages'}`,
    ...(system ? ['a system message'] : []),
    ...(pictures > 0 ? [`${pictures} ${pictures === 1 ? 'picture' : 'pictures'}`] : []),
  ].join(', ');
  const answers = toolResults(messages).map(
    ({ name, content }) => `${name} answered: "${shorten(textOf(content))}"`,
  );
  const answered = answers.length > 0 ? `\n\n${answers.join('\n')}` : '';
  const closing = pick(random, [
    'No model was asked, so nothing was thought: the same question always gets this same answer.',
    'I am a stand-in that costs nothing to run, so that you can build before you spend.',
    'A real model would answer here; everything else about this call is as it will be then.',
  ]);
  return `${opening} ${echo}${answered}\n\nThe conversation has ${seen}. ${closing}`;
}

/** A text of exactly so many words, for those who want a long reply. */
function manyWords(asked: string, count: number): string {
  const random = randomFrom(hashText(asked));
  const stock = [
    'sandbox',
    'river',
    'lantern',
    'copper',
    'meadow',
    'signal',
    'harbour',
    'window',
    'paper',
    'orchard',
    'thunder',
    'silver',
    'garden',
    'compass',
    'winter',
    'engine',
  ];
  return Array.from({ length: Math.floor(count) }, () => pick(random, stock)).join(' ');
}

function partsOf(content: unknown): Record<string, unknown>[] {
  return Array.isArray(content) ? listOf(content) : [];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return partsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join(' ')
    .trim();
}

function shorten(text: string): string {
  const line = text.replace(/\s+/gu, ' ');
  // Twice as many units hold so many characters; the rest may be megabytes.
  const chars = Array.from(line.slice(0, 2 * ECHO_MAX + 2));
  return chars.length <= ECHO_MAX ? line : `${chars.slice(0, ECHO_MAX - 1).join('')}…`;
}
