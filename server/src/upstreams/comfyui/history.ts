import { isObject, itemsOf, type Json } from '../../lib/json.ts';
import type { JsonNumber } from '../../lib/long-integers.ts';
import { isMediaAddress } from '../outputs.ts';
import { reasonIn } from '../replies.ts';
import { stateOf } from '../states.ts';
import type { JobState, OutputMedia } from '../upstream.ts';
import type { Api } from './api.ts';
import { isCallers, type Workflow } from './workflow.ts';

/** Reads a job's state from ComfyUI's history and queue. */

const filesMax = 200;
const nameMax = 500;

export function asObject(value: unknown): Json | null {
  return isObject(value) ? value : null;
}

/** The outcome of a job by its entry in the history; null while the entry states none. */
export function endOf(
  entry: Json,
  workflow: Workflow | null,
  seed: JsonNumber | null,
  api: Pick<Api, 'outputSource'>,
): JobState | null {
  const status = asObject(entry.status);
  const word = status === null ? 'done' : stateOf(status.status_str);
  if (word === 'failed' || word === 'stopped') return failure(status, workflow);
  if (word === 'running' && status?.completed !== true) return null;
  const media = mediaIn(asObject(entry.outputs) ?? {}, workflow, api);
  if (media.length === 0) {
    const message = 'The workflow returned no output.';
    return { state: 'failed', code: 'upstream_failed', message };
  }
  return { state: 'done', result: { media, fields: seed === null ? {} : { seed } } };
}

function failure(status: Json | null, workflow: Workflow | null): JobState {
  const messages = Array.isArray(status?.messages) ? status.messages : [];
  const told = messages.find(
    (each: unknown) => Array.isArray(each) && each[0] === 'execution_error',
  );
  const error = asObject(itemsOf(told)[1]);
  if (error === null) {
    const message = 'The job was interrupted at ComfyUI.';
    return { state: 'stopped', code: 'upstream_failed', message };
  }
  // If a node that reads the caller's file fails, the file's contents are to blame.
  const node = String(error.node_id);
  const files = workflow === null ? null : { ...workflow, inputs: {} };
  const code = files && isCallers(files, node, null) ? 'upstream_rejected' : 'upstream_failed';
  const reason = withoutPaths(reasonIn(error.exception_message));
  return { state: 'failed', code, message: reason ?? 'A node of the workflow failed.' };
}

/** Removes the server's file paths from a text. */
function withoutPaths(text: string | null): string | null {
  const path = /(?:\b[A-Za-z]:)?[\\/](?:[^\s\\/'"():,]+[\\/])+[^\s'"():,]*/g;
  return text?.replaceAll(path, '…') ?? null;
}

function mediaIn(
  outputs: Json,
  workflow: Workflow | null,
  api: Pick<Api, 'outputSource'>,
): OutputMedia[] {
  const ids = workflow?.outputs ?? Object.keys(outputs);
  const files = ids.flatMap((id) => filesIn(asObject(outputs[id]) ?? {})).slice(0, filesMax);
  return files.map(({ filename, subfolder }) => ({
    field: null,
    source: api.outputSource({ filename, subfolder }),
    file_name: filename,
  }));
}

interface OutputFile {
  filename: string;
  subfolder: string;
}

/**
 * The files in a node's output, in whichever list: images, gifs, video, audio. Previews, which have
 * the type `temp`, are left out.
 */
function filesIn(output: Json): OutputFile[] {
  return Object.values(output)
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((item: unknown) => {
      const { filename, subfolder = '', type } = asObject(item) ?? {};
      if (typeof filename !== 'string' || typeof subfolder !== 'string') return [];
      if (type !== 'output' || filename.length > nameMax || subfolder.length > nameMax) return [];
      const isMedia = isMediaAddress(`http://x/${encodeURIComponent(filename)}`);
      return isMedia ? [{ filename, subfolder }] : [];
    });
}

/** A job in the queue or the history: `[number, prompt_id, prompt, extra_data, …]`. */
export interface QueuedJob {
  number: number;
  prompt_id: string;
  extra_data: Json;
}

export function queuedJob(value: unknown): QueuedJob | null {
  const [number, prompt_id, , extra_data] = itemsOf(value);
  if (typeof prompt_id !== 'string') return null;
  return {
    number: typeof number === 'number' ? number : 0,
    prompt_id,
    extra_data: asObject(extra_data) ?? {},
  };
}

export interface Queue {
  running: QueuedJob[];
  pending: QueuedJob[];
}

/** Null if `value` is not a queue. */
export function queueOf(value: unknown): Queue | null {
  const { queue_running, queue_pending } = asObject(value) ?? {};
  if (!Array.isArray(queue_running) || !Array.isArray(queue_pending)) return null;
  const jobs = (list: unknown[]) => list.map(queuedJob).filter((job) => job !== null);
  return { running: jobs(queue_running), pending: jobs(queue_pending) };
}
