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
  /** Chat only: the tools to call. */
  tools: ToolWord[];
  /** Chat only: no tool is called. */
  noTool: boolean;
}

/** `sandbox:tool=NAME`, or `sandbox:tool=NAME{…}` with arguments. */
export interface ToolWord {
  /** `*`: all tools. */
  name: string;
  /** The JSON after the name, unchecked; null if there is none. */
  args: string | null;
}

const argsMaxLength = 16 * 1024;
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
    tools: toolWords(text),
    noTool: found.has('no-tool'),
  };
}

/** Each different word once. */
function toolWords(text: string): ToolWord[] {
  const words = new Map<string, ToolWord>();
  const pattern = /\bsandbox:tool=([\w-]{1,64}|\*)/gi;
  for (let found; words.size < toolsMax && (found = pattern.exec(text));) {
    const args = objectAt(text, pattern.lastIndex);
    pattern.lastIndex += args?.length ?? 0;
    words.set(`${found[1]}${args}`, { name: found[1]!, args });
  }
  return [...words.values()];
}

/** The text of the JSON object that begins here, up to its last brace; null if none begins here. */
function objectAt(text: string, from: number): string | null {
  if (text[from] !== '{') return null;
  const rest = text.slice(from, from + argsMaxLength);
  let depth = 0;
  // Texts are matched as a whole, so that braces inside them do not count.
  for (const { 0: part, index } of rest.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (part === '{') depth++;
    else if (part === '}') depth--;
    if (depth === 0) return rest.slice(0, index + part.length);
  }
  return rest;
}
