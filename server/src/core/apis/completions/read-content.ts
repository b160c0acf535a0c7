import { isObject, itemsOf, type Json } from '../../../lib/json.ts';
import { isFilled } from '../../check.ts';
import type { TextForm, TextReader } from '../reading/texts.ts';
import type { Thoughts } from '../reading/thoughts.ts';
import { textOf } from '../reading/values.ts';
import { thoughtIn } from '../thoughts.ts';

interface Readers {
  texts: Record<'text' | 'refusal', TextReader>;
  thoughts: Thoughts;
  logprobs: Json;
}

/** Reads the reasoning, the text and the refusal of a message or delta. */
export function readContent(message: Json, form: TextForm, readers: Readers): void {
  const { texts, thoughts, logprobs } = readers;
  const { content, refusal } = message;
  // A whole message repeats the thoughts that came in pieces.
  const hasThought = (form === 'whole' && thoughts.hasAny()) || readThoughts(message, thoughts);
  const isFirst = form === 'piece' || texts.text.said() === '';
  if (Array.isArray(content) && isFirst) readParts(content, hasThought, readers);
  else texts.text.add(textOf(content), form, logprobs.content);
  if (refusal) texts.refusal.add(textOf(refusal), form, logprobs.refusal);
}

/** A text that came as a list of parts. Mistral puts its reasoning among them. */
function readParts(parts: unknown[], hasThought: boolean, { texts, thoughts, logprobs }: Readers) {
  let told = logprobs.content;
  for (const part of parts) {
    const thought = isObject(part) ? (part.thinking ?? part.reasoning) : undefined;
    if (thought !== undefined) {
      if (!hasThought) thoughts.plain(textOf(thought));
    } else if (isObject(part) && isFilled(part.refusal)) {
      texts.refusal.add(part.refusal, 'piece', null);
    } else {
      texts.text.add(textOf(part), 'piece', told);
      told = null;
    }
  }
}

const plainNames = ['reasoning_content', 'reasoning', 'thinking'];

/** Whether the message has reasoning. A text that has several names counts once. */
function readThoughts(message: Json, thoughts: Thoughts): boolean {
  const details = itemsOf(message.reasoning_details)
    .map(thoughtIn)
    .filter((each) => each !== null);
  // Servers that send details repeat their texts as plain reasoning.
  const isDetailed = details.some(({ form, text }) => form !== 'hidden' && text !== '');
  const texts = isDetailed ? [] : plainNames.map((name) => textOf(message[name]));
  const plain = texts.find((text) => text !== '') ?? '';
  thoughts.plain(plain);
  for (const { index, ...sent } of details) thoughts.piece(`${sent.form} ${index}`, sent);
  return isDetailed || plain !== '';
}
