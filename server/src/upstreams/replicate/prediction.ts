import { isObject, objectOf } from '../../lib/json.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { collectMedia } from '../outputs.ts';
import { reasonIn } from '../replies.ts';
import { stateOf } from '../states.ts';
import type { JobState, JobResult } from '../upstream.ts';

/** Reads the state of a job from Replicate's prediction. */

/** Progress and logs are read only from the end of the logs. */
const logTail = 32 * 1024;
const logLines = 50;
const progressLines = 20;
const depthMax = 6;
const idForm = /^[A-Za-z0-9_-]{1,100}$/;

interface Prediction {
  id: string;
  status: string;
  output?: unknown;
  error?: unknown;
  logs?: unknown;
  data_removed?: unknown;
}

/** The prediction in a reply, or null if there is none. */
export function predictionOf(value: unknown): Prediction | null {
  const { id, status, ...others } = objectOf(value);
  if (typeof id !== 'string' || !idForm.test(id) || typeof status !== 'string') return null;
  return { ...others, id, status };
}

export function stateOfPrediction(prediction: Prediction): JobState {
  const { status, error, output, logs, data_removed } = prediction;
  const word = stateOf(status);
  if (word === 'running') return runningState(logs);
  if (word === 'stopped') return stoppedState(status);
  if (word === 'failed') return failedState(error);
  const result = resultOf(output);
  if (result !== null) return { state: 'done', result };
  const message =
    data_removed === true
      ? 'The result was removed before it could be fetched.'
      : 'The model returned no output.';
  return { state: 'failed', code: 'upstream_failed', message };
}

function runningState(logs: unknown): JobState {
  if (typeof logs !== 'string') return { state: 'running' };
  const lines = logs
    .slice(-logTail)
    .split(/[\r\n]+/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-logLines);
  const progress = progressIn(lines);
  return {
    state: 'running',
    ...(progress !== null && { progress }),
    ...(lines.length > 0 && { logs: lines }),
  };
}

/** Progress from 0 to 1, by the last progress bar or percentage in the logs. */
function progressIn(lines: readonly string[]): number | null {
  for (const line of lines.slice(-progressLines).reverse()) {
    const percent = Number(/(?:^|[\s|:(])(\d{1,3}(?:\.\d{1,4})?) ?%/.exec(line)?.[1] ?? NaN);
    if (percent <= 100) return percent / 100;
  }
  return null;
}

/** Words with which models blame the caller's input. */
const blamesInput = new RegExp(
  [
    'nsfw|flagged|sensitive|safety|moderat|polic(?:y|ies)|prohibited|inappropriate|\\bE005\\b',
    '\\binvalid\\b|\\brequired\\b|must (?:be|have|contain|not)|unsupported|not supported',
    'cannot identify image|no face|too (?:large|long|short|small|many)',
  ].join('|'),
  'i',
);

/** Replicate bills what it calls `canceled`, at a price that only the operator knows. */
function stoppedState(status: string): JobState {
  const stopped = { state: 'stopped', code: 'upstream_failed' } as const;
  if (!/^abort/i.test(status))
    return { ...stopped, message: 'The job was cancelled at Replicate.' };
  const message = 'Replicate cancelled the job before it started.';
  return { ...stopped, message, cost_usd_micro: 0n };
}

function failedState(error: unknown): JobState {
  const reason = reasonIn(error);
  const code =
    reason !== null && blamesInput.test(reason) ? 'upstream_rejected' : 'upstream_failed';
  return { state: 'failed', code, message: reason ?? 'The model failed without giving a reason.' };
}

/** Null if there is no output. */
function resultOf(output: unknown): JobResult | null {
  if (output === undefined || output === null || output === '') return null;
  const files = withFiles(output, 0);
  const { media, fields } = collectMedia(files, null);
  return media.length === 0 && Object.keys(fields).length === 0 ? null : { media, fields };
}

/** An address on Replicate's delivery hosts is a file, even without a file extension. */
function withFiles(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return isDelivery(value) ? { url: value } : value;
  if (depth > depthMax) return value;
  if (Array.isArray(value)) return value.map((item) => withFiles(item, depth + 1));
  if (!isObject(value)) return value;
  if (typeof fieldOf(value, 'url') === 'string') return value;
  const entries = Object.entries(value).map(([name, item]) => [name, withFiles(item, depth + 1)]);
  return Object.fromEntries(entries);
}

function isDelivery(text: string): boolean {
  if (!/^https:/i.test(text) || !URL.canParse(text)) return false;
  return /(?:^|\.)replicate\.delivery$/.test(new URL(text).hostname);
}
