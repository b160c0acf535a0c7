import { messageFields, optionalNames } from '../../core/chat/optional-fields.ts';
import { hasKey, isOneOf } from '../../lib/records.ts';

/** The differences between OpenAI-compatible servers, from the definition's `options`. */
export interface OpenaiOptions {
  /** The API of its chat. */
  api: 'completions' | 'responses';
  /** A path such as `/v1`, appended to the address unless the address already ends with it. */
  base_path: string;
  /** The server's name for the limit of completion tokens. */
  token_limit: 'max_tokens' | 'max_completion_tokens';
  /** Ask for the usage of each stream; some servers report it only if asked. */
  include_usage: boolean;
  /** Download the addresses in chat calls ourselves, and send their contents as data. */
  inline_images: boolean;
  /** Time limit for the first byte of a reply; the server may have to load the model first. */
  first_byte_seconds: number;
  /** Time limit between two bytes of a stream. */
  idle_seconds: number;
  /** Time limit of an image's start, whose answer contains the image. */
  start_seconds: number;
  /** A path that costs nothing and answers only to a valid key. */
  check_path: string;
  /** Names of the optional chat fields that the server gets. */
  pass: readonly string[];
  /** Names of the fields of messages that the server gets, beside role, content and tool calls. */
  message_fields: readonly string[];
  /** Whether the server knows the role `developer`; otherwise it gets `system`. */
  developer_role: boolean;
  /** Whether the server knows tools of the type `custom`; otherwise it gets functions. */
  custom_tools: boolean;
  /** Most characters of a tool's name. Longer names are shortened, and given back whole. */
  tool_name_max: number;
  /** How a video is requested. */
  videos: 'multipart' | 'json' | 'openrouter';
}

const usual: OpenaiOptions = {
  api: 'completions',
  base_path: '',
  token_limit: 'max_tokens',
  include_usage: true,
  inline_images: false,
  // Long, because a reasoning model may be silent for many minutes; the row has its own limit.
  first_byte_seconds: 3600,
  idle_seconds: 300,
  start_seconds: 300,
  check_path: '/models',
  pass: [],
  message_fields: messageFields.filter((field) => field !== 'reasoning'),
  developer_role: false,
  custom_tools: false,
  tool_name_max: 64,
  videos: 'multipart',
};

const words: Partial<Record<keyof OpenaiOptions, readonly string[]>> = {
  api: ['completions', 'responses'],
  token_limit: ['max_tokens', 'max_completion_tokens'],
  videos: ['multipart', 'json', 'openrouter'],
  pass: optionalNames,
  message_fields: messageFields,
};
/** The largest number of an option: an hour in seconds. */
const numberMax = 3600;

/** Throws if an option is unknown or invalid. The catalog's schema usually reports it earlier. */
export function optionsOf(given: Record<string, unknown>): OpenaiOptions {
  return readOptions(given, usual, words);
}

/**
 * The given options, and the usual ones for the rest. Throws if an option is unknown or invalid.
 * `words`: the allowed values of options that have only a few, or of the items of a list.
 */
export function readOptions<T extends object>(
  given: Record<string, unknown>,
  usual: T,
  words: Partial<Record<keyof T, readonly string[]>>,
): T {
  for (const [name, value] of Object.entries(given)) {
    if (!hasKey(usual, name)) throw new Error(`there is no option ${String(name)}`);
    if (!fits(value, usual[name], words[name]))
      throw new Error(`the option ${String(name)} cannot be ${String(value)}`);
  }
  return { ...usual, ...given };
}

function fits(value: unknown, usual: unknown, allowed: readonly string[] | undefined): boolean {
  if (Array.isArray(value) !== Array.isArray(usual)) return false;
  if (allowed) return [value].flat().every((each) => isOneOf(allowed, each));
  if (typeof value !== typeof usual) return false;
  if (typeof value === 'number') return value >= 1 && value <= numberMax;
  return typeof value !== 'string' || /^(\/[\w.-]+)*$/.test(value);
}
