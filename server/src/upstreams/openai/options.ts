import { hasKey, isOneOf } from '../../lib/records.ts';

/** Differences between OpenAI-compatible servers, from the definition's `options`. */
export interface Options {
  /** Appended to an address that does not end with it, such as `/v1`. */
  base_path: string;
  /** The server's name for the limit of completion tokens. */
  token_limit: 'max_tokens' | 'max_completion_tokens';
  /** Asks each stream for its usage; otherwise some servers report none. */
  include_usage: boolean;
  /** Images of chat calls are downloaded here, through the guard, and sent as data. */
  inline_images: boolean;
  /** Until the first byte of a reply; a model may have to be loaded first. */
  first_byte_seconds: number;
  /** Between two bytes of a stream. */
  idle_seconds: number;
  /** For an image, which comes in the answer to its start. */
  start_seconds: number;
  /** A path that costs nothing and answers only to a valid key. */
  check_path: string;
  /** How a video is requested. */
  videos: 'multipart' | 'json' | 'openrouter';
}

const usual: Options = {
  base_path: '',
  token_limit: 'max_tokens',
  include_usage: true,
  inline_images: false,
  // The row bounds the time: a model that thinks may rightly be silent for many minutes.
  first_byte_seconds: 3600,
  idle_seconds: 300,
  start_seconds: 300,
  check_path: '/models',
  videos: 'multipart',
};

const words: Partial<Record<keyof Options, readonly string[]>> = {
  token_limit: ['max_tokens', 'max_completion_tokens'],
  videos: ['multipart', 'json', 'openrouter'],
};
const secondsMax = 3600;

/** Throws if an option is unknown or invalid. Usually the schema has reported it before. */
export function optionsOf(given: Record<string, unknown>): Options {
  for (const [name, value] of Object.entries(given)) {
    if (!hasKey(usual, name)) throw new Error(`there is no option ${String(name)}`);
    if (!fits(name, value)) throw new Error(`the option ${name} cannot be ${String(value)}`);
  }
  return { ...usual, ...given };
}

function fits(option: keyof Options, value: unknown): boolean {
  const allowed = words[option];
  if (allowed) return isOneOf(allowed, value);
  if (typeof value !== typeof usual[option]) return false;
  if (typeof value === 'number') return value >= 1 && value <= secondsMax;
  return typeof value !== 'string' || /^(\/[\w.-]+)*$/.test(value);
}
