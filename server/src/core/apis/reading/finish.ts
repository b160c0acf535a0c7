import { isObject } from '../../../lib/json.ts';
import type { FinishReason } from '../../chat/reply.ts';

/**
 * The words with which services end a reply, in lower case and with underscores. The first that
 * fits decides; words that no service is known to use mean `stop`.
 */
const meanings: readonly [FinishReason | 'broken' | null, RegExp][] = [
  [null, /^(null|none|undefined|unspecified|in_progress|not_finished)?$/],
  ['stop', /^(stop|end|eos|complete|finish|done|pause|image_other|no_image)/],
  [
    'filter',
    /filter|safety|language|recitation|blocklist|prohibited|spii|armor|refus|sensitive|toxic|guardrail|block|moderat|policy/,
  ],
  ['length', /length|max_|token|(?<!time_|rate_)limit|context_window|incomplete|truncat/],
  [
    'broken',
    /error|fail|abort|cancel|timeout|_limit|malformed|unexpected|too_many|missing|insufficient|overload/,
  ],
  ['tools', /tool|function/],
];

/** The meaning of a finish reason. Null: the reply goes on. `broken`: it failed. */
export function finishOf(given: unknown): FinishReason | 'broken' | null {
  const reason = isObject(given) ? given.type : given;
  if (typeof reason !== 'string') return null;
  const word = reason
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^(?:finish|stop)_reason_/, '');
  const known = meanings.find(([, form]) => form.test(word));
  return known === undefined ? 'stop' : known[0];
}

/**
 * The reason of an end, from the last one that was told. Some servers tell none, or `stop` after
 * tool calls, or tool calls without any.
 */
export function reasonOf(told: FinishReason | null, hasCalled: boolean): FinishReason {
  if (told === 'length' || told === 'filter') return told;
  return hasCalled ? 'tools' : 'stop';
}
