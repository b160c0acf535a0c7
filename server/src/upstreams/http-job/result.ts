import { errorIn } from '../../core/apis/read-reply.ts';
import { statedCost } from '../../core/price/cost.ts';
import { isObject } from '../../lib/json.ts';
import { collectMedia, listIn, underField } from '../outputs.ts';
import { messageIn, progressOf } from '../replies.ts';
import { saysMissing, stateOf } from '../states.ts';
import type { JobState, OutputMedia, JobResult } from '../upstream.ts';
import { codeText, type HttpJobOptions } from './options.ts';
import { numberAt, textAt, valueAt, valuesAt } from './path.ts';

/** Reads a job's state from a successful reply to a poll. */

/**
 * Throws an Error if the reply does not describe a job. `shown` makes a message safe to show.
 * `isNamed`: the reply has the job's id, so it may lack a state.
 */
export function jobState(
  json: unknown,
  options: HttpJobOptions,
  shown: (message: string) => string,
  isNamed: boolean,
): JobState {
  const word = textAt(json, options.status);
  // Google's operations have one only at their end.
  const isEarly =
    isNamed &&
    isObject(json) &&
    errorIn(json) === null &&
    messageIn(valueAt(json, options.error)) === null;
  if (word === undefined && !isEarly) throw new Error('the reply to a poll has no state');
  if (saysMissing(word)) return { state: 'missing', message: shown(String(word)) };
  const state = word === undefined ? 'running' : stateOf(word, options.words);
  if (state === 'failed') return failure(json, options, shown);
  if (state === 'stopped')
    return { ...failure(json, options, shown), state, ...billedIn(json, options) };
  if (state === 'running') {
    const progress = progressOf(textAt(json, options.progress), options.progress_of);
    const { poll_after_ms } = options;
    return {
      state,
      ...(progress !== undefined && { progress }),
      ...(poll_after_ms !== null && { poll_after_ms }),
    };
  }
  const result = resultOf(json, options);
  if (result.media.length > 0 || typeof result.fields.text === 'string') return { state, result };
  const { code, message } = failure(json, options, shown, 'The model returned no output.');
  return { state: 'failed', code, message };
}

function failure(
  json: unknown,
  { error, rejected_when }: HttpJobOptions,
  shown: (message: string) => string,
  otherwise = 'The generation failed.',
): JobState & { state: 'failed' } {
  const told = valueAt(json, error);
  const said = shown(messageIn(told) ?? textAt(json, error) ?? '');
  // Some services write `success` there.
  const message = said === '' || stateOf(said) === 'done' ? otherwise : said;
  const { code, is, says } = rejected_when;
  const lower = message.toLowerCase();
  const isRejected =
    (code.length > 0 && is.includes(codeText(valueAt(json, code)))) ||
    says.some((word) => lower.includes(word));
  return { state: 'failed', code: isRejected ? 'upstream_rejected' : 'upstream_failed', message };
}

function resultOf(json: unknown, options: HttpJobOptions): JobResult {
  const media: OutputMedia[] = [];
  for (const { path, field } of options.outputs) {
    // A path may lead to one address or to a list of addresses.
    const values = valuesAt(json, path).flat().flatMap(listIn);
    for (const value of values) media.push(...mediaIn(value, field));
  }
  const fields = options.fields.flatMap(([name, path]) => {
    const value = valueAt(json, path);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { media, fields: Object.fromEntries(fields), ...billedIn(json, options) };
}

/** The units and the cost that the service states. */
function billedIn(
  json: unknown,
  options: HttpJobOptions,
): Pick<JobResult, 'quantity' | 'cost_usd_micro'> {
  const quantity = numberAt(json, options.quantity);
  const told = numberAt(json, options.cost_usd.path);
  const cost = told === undefined ? null : statedCost(told * options.cost_usd.each_usd);
  return {
    ...(quantity !== undefined && { quantity }),
    ...(cost !== null && { cost_usd_micro: cost }),
  };
}

function mediaIn(value: unknown, field: string | null): OutputMedia[] {
  const output = typeof value === 'string' ? { url: value } : value;
  return underField(collectMedia(output, null).media, field);
}
