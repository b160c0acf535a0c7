import { isObject, type Json } from '../../lib/json.ts';
import { exactJson } from '../../lib/long-integers.ts';
import { isFilled } from '../check.ts';

/** The input of a call that is given back. Servers parse it, and cannot parse an empty text. */
export function givenInput(text: unknown): string {
  return isFilled(text) && text.trim() !== '' ? text : '{}';
}

/**
 * The input of a tool call in Messages, where it is an object. A call with a broken input stays in
 * the conversation: its result needs a call, and a client can show the model why it failed.
 */
export function toolInput(text: string): Json {
  if (text.trim() === '') return {};
  try {
    const value: unknown = exactJson(text);
    if (isObject(value)) return value;
  } catch {
    // Broken JSON is kept as a text.
  }
  return { INVALID_JSON: text };
}
