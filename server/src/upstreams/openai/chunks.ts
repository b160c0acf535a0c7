import { readEvents } from '../../lib/outbound/event-stream.ts';
import { isCount, isObject, itemsOf, type Json } from '../../lib/json.ts';
import { exactJson } from '../../lib/long-integers.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { errorIn } from './wire.ts';

/** Converts the replies and chunks of various servers to OpenAI's shape. */

/** Ample: a chunk with all log probabilities is far smaller. */
const eventCharsMax = 4 * 1024 * 1024;

/** Fields that are passed on; others are a server's own additions. */
const passed = ['id', 'object', 'created', 'model', 'system_fingerprint'];

/**
 * The chunks of a stream. Throws if the stream breaks off or has an invalid chunk; earlier chunks
 * count as delivered.
 */
export async function* readChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Json> {
  let ended = false;
  for await (const { event, data } of readEvents(bytes, eventCharsMax)) {
    const text = data.trim();
    if (text === '[DONE]') return;
    if (text === '') continue;
    const chunk = tidied(event === 'error' ? wrapped(parsed(text)) : parsed(text));
    ended ||= isLast(chunk);
    yield chunk;
  }
  // Some servers omit [DONE], but all send a finish_reason.
  if (!ended) throw new Error('its stream ended before the reply was complete');
}

/** The object in the data of an event. Throws if the data are not a JSON object. */
export function parsed(text: string): Json {
  let value: unknown;
  try {
    value = exactJson(text);
  } catch {
    // Handled below.
  }
  if (!isObject(value)) throw new Error('its stream has an invalid chunk');
  return value;
}

function wrapped(value: Json): Json {
  return errorIn(value) === null ? { error: value } : value;
}

function isLast({ choices, usage }: Json): boolean {
  const list = itemsOf(choices);
  if (list.length === 0) return isObject(usage);
  return list.some((choice) => typeof fieldOf(choice, 'finish_reason') === 'string');
}

/** A reply or chunk with usage and error moved to where OpenAI has them. */
export function tidied(value: Json): Json {
  const own = Object.fromEntries(
    passed.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
  const list = Array.isArray(value.choices) ? value.choices.filter(isObject) : [];
  const choices = list.map(inOneText);
  const usage = usageIn(value);
  const error = errorOf(value, choices);
  return {
    ...own,
    choices,
    ...(usage !== undefined && { usage }),
    ...(error !== null && { error }),
  };
}

/** Joins a text that came as a list of parts, which OpenAI's clients cannot read. */
function inOneText(choice: Json): Json {
  const name = isObject(choice.delta) ? 'delta' : 'message';
  const said = choice[name];
  if (!isObject(said) || !Array.isArray(said.content)) return choice;
  // Mistral puts its reasoning among the parts.
  const thought = textsIn(said.content.filter(isObject).flatMap(({ thinking }) => thinking ?? []));
  const reasoning = thought !== '' && { reasoning_content: thought };
  return { ...choice, [name]: { ...said, ...reasoning, content: textsIn(said.content) } };
}

function textsIn(parts: unknown[]): string {
  const texts = parts.map((part) => (isObject(part) ? part.text : part));
  return texts.filter((text) => typeof text === 'string').join('');
}

/** The error of a reply. OpenRouter also puts it into the choice, Groq into a separate field. */
function errorOf(value: Json, choices: Json[]): unknown {
  const error = errorIn(value);
  if (error !== null) {
    const { message, type, code, param, metadata } = error;
    return { message, type, code, param, metadata };
  }
  const broken = choices.find((choice) => choice.finish_reason === 'error' && choice.error);
  if (broken) return broken.error;
  return errorIn(value.x_groq);
}

function usageIn(value: Json): unknown {
  const { usage, timings, x_groq: groq } = value;
  const said = isObject(usage) ? usage : isObject(groq) ? groq.usage : usage;
  if (!isObject(timings)) return said;
  const counted = usageOfTimings(timings);
  if (!isObject(said)) return counted ?? said;
  // llama.cpp reports cached tokens in its timings, not in its usage.
  const { prompt_tokens_details } = said;
  if (counted === null || isObject(prompt_tokens_details)) return said;
  return { ...said, prompt_tokens_details: counted.prompt_tokens_details };
}

function usageOfTimings({ cache_n: cached = 0, prompt_n: read, predicted_n: written }: Json) {
  if (!isCount(cached) || !isCount(read) || !isCount(written)) return null;
  return {
    prompt_tokens: cached + read,
    completion_tokens: written,
    total_tokens: cached + read + written,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
