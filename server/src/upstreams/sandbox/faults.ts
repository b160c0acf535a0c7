/**
 * Faults on request, by words in a prompt or in the last user message: `sandbox:fail` and so on.
 * Words can be combined, as in `sandbox:slow=3 sandbox:fail`.
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
  /** Chat only: the reply carries no usage. */
  noUsage: boolean;
  /**
   * Seconds until the job is ready, or until the first word of a chat. Null: as long as it takes.
   */
  slowSeconds: number | null;
  /** Chat only: the reply has this many words. */
  words: number | null;
  /** Chat only: names of the tools to call. */
  tools: string[];
  /** Chat only: no tool is called. */
  noTool: boolean;
}

const SLOW_MAX_SECONDS = 7200;
const WORDS_MAX = 20_000;
const TOOLS_MAX = 16;

export function faultsIn(text: unknown): Faults {
  const found = new Map<string, string>();
  if (typeof text === 'string') {
    for (const [, word, value] of text.matchAll(/\bsandbox:([a-z-]+)(?:=(\d+(?:\.\d+)?))?/gi)) {
      found.set(word!.toLowerCase(), value ?? '');
    }
  }
  return {
    fail: found.has('fail'),
    reject: found.has('reject'),
    hang: found.has('hang'),
    badOutput: found.has('bad-output'),
    busy: found.has('busy'),
    lost: found.has('lost'),
    breaks: found.has('break'),
    noUsage: found.has('no-usage'),
    slowSeconds: number(found.get('slow'), SLOW_MAX_SECONDS),
    words: number(found.get('words'), WORDS_MAX),
    tools: toolsIn(text),
    noTool: found.has('no-tool'),
  };
}

function toolsIn(text: unknown): string[] {
  if (typeof text !== 'string') return [];
  const named = [...text.matchAll(/\bsandbox:tool=([\w-]{1,64})/gi)].map(([, name]) => name!);
  return [...new Set(named)].slice(0, TOOLS_MAX);
}

function number(value: string | undefined, most: number): number | null {
  return value === undefined || value === '' ? null : Math.min(most, Number(value));
}
