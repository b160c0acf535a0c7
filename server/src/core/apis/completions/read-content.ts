import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import type { TextForm, TextReader } from '../reading/texts.ts';
import type { SentThought, Thoughts } from '../reading/thoughts.ts';
import { listOf, textOf, wordsOf } from '../reading/values.ts';
import { claudeFormat, googleFormat, googleProof, thoughtIn } from '../thoughts.ts';

interface Readers {
  texts: Record<'text' | 'refusal', TextReader>;
  thoughts: Thoughts;
  logprobs: Json;
}

/** Reads the reasoning, the text and the refusal of a message or delta. */
export function readContent(message: Json, form: TextForm, readers: Readers): void {
  const { texts, thoughts, logprobs } = readers;
  const { content, refusal, extra_content } = message;
  const isThought = objectOf(objectOf(extra_content).google).thought === true;
  const [thinking, shown] = partsIn(content, isThought);
  // A whole message repeats the thoughts that came in pieces.
  if (form !== 'whole' || !thoughts.hasAny()) readThoughts(message, thinking, thoughts);
  thoughts.piece('proof', { form: 'hidden', text: googleProof(message), format: googleFormat });
  const isFirst = form === 'piece' || texts.text.said() === '';
  if (Array.isArray(shown) && isFirst) readParts(shown, readers);
  else texts.text.add(wordsOf(shown), form, logprobs.content);
  if (refusal) texts.refusal.add(textOf(refusal), form, logprobs.refusal);
}

/** The reasoning in a content, and the rest. Google marks it, and puts it into tags. */
function partsIn(content: unknown, isThought: boolean): [unknown[], unknown] {
  if (Array.isArray(content)) {
    const thinking = content.filter(isThinking);
    return [thinking, content.filter((part) => !thinking.includes(part))];
  }
  const [before, ...behind] = wordsOf(content)
    .replace(/^<thought>/, '')
    .split('</thought>');
  if (isThought) return [[{ thinking: before }], behind.join('</thought>')];
  return [[], before === '' && behind.length > 0 ? behind.join('</thought>') : content];
}

function isThinking(part: unknown): boolean {
  if (!isObject(part)) return false;
  return /reason|think/.test(textOf(part.type)) || (part.thinking ?? part.reasoning) !== undefined;
}

/** A text that came as a list of parts. */
function readParts(parts: unknown[], { texts, logprobs }: Readers): void {
  let told = logprobs.content;
  for (const part of parts) {
    if (isObject(part) && isFilled(part.refusal)) texts.refusal.add(part.refusal, 'piece', null);
    else {
      texts.text.add(textOf(part), 'piece', told);
      told = null;
    }
  }
}

const plainNames = [
  'reasoning_content',
  'reasoning',
  'thinking',
  'reasoning_text',
  'thinking_content',
  'thought',
];

/** Reads reasoning, which counts once although it has several names. `parts`: of the content. */
function readThoughts(message: Json, parts: unknown[], thoughts: Thoughts): void {
  const { reasoning_details, thinking_blocks, thinking } = message;
  const blocks = isObject(thinking) ? [thinking] : itemsOf(thinking_blocks);
  const details = [...listOf(reasoning_details), ...blocks].flatMap(sentThought);
  // Servers that send details repeat their texts as plain reasoning.
  const isDetailed = details.some(({ form, text }) => form !== 'hidden' && text !== '');
  const plain = plainNames.map((name) => thinkingOf(message[name])).find((text) => text !== '');
  if (!isDetailed && plain !== undefined) thoughts.plain(plain);
  for (const { index, ...sent } of details) thoughts.piece(`${sent.form} ${index}`, sent);
  if (isDetailed || plain !== undefined) return;
  for (const { index, ...sent } of parts.flatMap(sentThought))
    if (sent.form === 'hidden' || sent.signature) thoughts.piece(`part ${index}`, sent);
    else thoughts.plain(sent.text);
}

/** A thought in OpenRouter's form, or a block of Claude's. */
function sentThought(own: unknown, position: number): (SentThought & { index: number })[] {
  const { type = 'text', index, signature, data, thinking } = objectOf(own);
  const known = thoughtIn(own);
  if (known !== null) return [{ ...known, index: isCount(index) ? index : position }];
  if (!/thinking$|reasoning$|text$/.test(textOf(type))) return [];
  const isClaudes = isFilled(signature) || isFilled(data) || thinking !== undefined;
  const more = { index: position, format: isClaudes ? claudeFormat : null };
  if (isFilled(data)) return [{ form: 'hidden', text: data, ...more }];
  return [{ form: 'text', text: thinkingOf(own), signature: textOf(signature) || null, ...more }];
}

function thinkingOf(value: unknown): string {
  const { thinking, reasoning, content, summary } = objectOf(value);
  return textOf(thinking ?? reasoning ?? content ?? summary ?? value);
}
