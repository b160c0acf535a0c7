/**
 * Faults that a caller requests by words such as `sandbox:fail` in a prompt or in the last user
 * message. Words can be combined, as in `sandbox:slow=3 sandbox:fail`.
 */
export interface Faults {
  fail: boolean;
  reject: boolean;
  hang: boolean;
  badOutput: boolean;
  busy: boolean;
  lost: boolean;
  /** Chat only: the stream breaks off half-way. */
  breaks: boolean;
  /** Chat only: the reply contains no usage. */
  noUsage: boolean;
  /** Seconds until the job is ready, or until the first word of a chat. Null: a natural time. */
  slowSeconds: number | null;
  /** Chat only: the reply has this many words. */
  words: number | null;
  /** Chat only: the usage says that this many prompt tokens were read from a cache. */
  cachedTokens: number | null;
  /** Chat only: names of the tools to call. */
  tools: string[];
  /** Chat only: no tool is called. */
  noTool: boolean;
}

const slowSecondsMax = 7200;
const wordsMax = 20_000;
const cachedTokensMax = 1_000_000;
const toolsMax = 16;

export function faultsIn(prompt: unknown): Faults {
  const text = typeof prompt === 'string' ? prompt : '';
  const found = new Map<string, string>();
  for (const [, word, value] of text.matchAll(/\bsandbox:([a-z-]+)(?:=(\d+(?:\.\d+)?))?/gi))
    found.set(word!.toLowerCase(), value ?? '');
  const numberOf = (word: string, most: number): number | null =>
    found.get(word) ? Math.min(most, Number(found.get(word))) : null;
  const tools = [...text.matchAll(/\bsandbox:tool=([\w-]{1,64})/gi)].map(([, name]) => name!);
  return {
    fail: found.has('fail'),
    reject: found.has('reject'),
    hang: found.has('hang'),
    badOutput: found.has('bad-output'),
    busy: found.has('busy'),
    lost: found.has('lost'),
    breaks: found.has('break'),
    noUsage: found.has('no-usage'),
    slowSeconds: numberOf('slow', slowSecondsMax),
    words: numberOf('words', wordsMax),
    cachedTokens: numberOf('cached', cachedTokensMax),
    tools: [...new Set(tools)].slice(0, toolsMax),
    noTool: found.has('no-tool'),
  };
}
