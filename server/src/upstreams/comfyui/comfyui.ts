import { createHash, randomInt } from 'node:crypto';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isJsonNumber, type JsonNumber } from '../../lib/long-integers.ts';
import type { Reply } from '../../lib/outbound/fetch.ts';
import { messageOf } from '../../lib/unknown.ts';
import { outcomeUnprepared } from '../inputs.ts';
import {
  demandStop,
  jsonOf,
  pollFault,
  outcomeOfFault,
  outcomeOfReply,
  redacted,
  saidBy,
} from '../replies.ts';
import type {
  Handle,
  JobState,
  StartJob,
  StartOutcome,
  Upstream,
  UpstreamTools,
} from '../upstream.ts';
import { createApi, type Api } from './api.ts';
import { uploadedFiles } from './files.ts';
import { asObject, endOf, queuedJob, queueOf, type Queue } from './history.ts';
import { refusedPrompt } from './refusal.ts';
import { filledPrompt, readWorkflows, seedField, type Workflow } from './workflow.ts';

/**
 * ComfyUI: the operator's own server, which runs graphs of nodes. A row names one of the workflows
 * in the definition. We choose each job's id, so the job can be found again after a lost answer.
 */

const submitMs = 60_000;
/** Long, because the files of the input are uploaded first. */
const startSeconds = 360;
const historyMaxBytes = 8 * 1024 * 1024;
/** Large, because the queue contains the graphs of all jobs. */
const queueMaxBytes = 64 * 1024 * 1024;
const seedMax = 2 ** 47;

interface Parts {
  workflows: ReadonlyMap<string, Workflow>;
  api: Api;
  tools: UpstreamTools;
}

/**
 * Throws an Error with words for the operator if a workflow's target does not exist in its graph.
 */
export function createComfyui(settings: UpstreamSettings, tools: UpstreamTools): Upstream {
  const workflows = readWorkflows(settings.options);
  const api = createApi(settings, tools);
  const parts = { workflows, api, tools };
  return {
    name: settings.name,
    class: 'B',
    concurrency: settings.concurrency,
    start_seconds: startSeconds,
    start: (job) => start(job, parts),
    poll: (handle, signal) => poll(handle, signal, parts),
    find: (key, signal) => find(key, signal, parts),
    cancel: (handle, signal) => cancel(handle, signal, parts),
    async check(signal) {
      try {
        const reply = await api.send({ path: '/system_stats', signal });
        if (reply.status !== 200) return api.redact(saidBy(reply));
        const isComfy = asObject(asObject(jsonOf(reply.body))?.system) !== null;
        return isComfy ? null : 'the service at its address is not ComfyUI';
      } catch (error) {
        return `it could not be reached: ${messageOf(error)}`;
      }
    },
    models: async () => [...workflows.keys()],
  };
}

async function start(job: StartJob, parts: Parts): Promise<StartOutcome> {
  const { workflows, api, tools } = parts;
  const workflow = workflows.get(job.model);
  if (!workflow) {
    const message = `its definition has no workflow named ${job.model}`;
    return { outcome: 'not_accepted', why: 'model', message };
  }
  const prompt_id = promptIdOf(job.idempotency_key);
  const seed = seedOf(job.input, workflow);
  let prompt;
  try {
    const files = await uploadedFiles(job, workflow, `farebox-${prompt_id}`, api, tools);
    prompt = filledPrompt(workflow, seed === null ? job.input : { ...job.input, seed }, files);
  } catch (error) {
    return redacted(outcomeUnprepared(error), api);
  }
  const handle = { prompt_id, workflow: workflow.name, ...(seed !== null && { seed }) };
  const json = { prompt, prompt_id, extra_data: { farebox: handle } };
  let reply: Reply;
  try {
    const call = { method: 'POST', path: '/prompt', json, timeoutMs: submitMs };
    reply = await api.send({ ...call, signal: job.signal });
  } catch (error) {
    return outcomeOfFault(error);
  }
  if (reply.status === 200) {
    const { prompt_id: taken } = asObject(jsonOf(reply.body)) ?? {};
    if (typeof taken === 'string')
      return { outcome: 'accepted', handle: { ...handle, prompt_id: taken } };
    return {
      outcome: 'unknown',
      message: 'answered 200 without the id of a job',
      answer: 'unreadable',
    };
  }
  const refused = refusedPrompt(reply, workflow) ?? outcomeOfReply(reply, tools.now());
  return redacted(refused, api);
}

/**
 * The job's id, the same for each attempt at a request. It is a hash, so it tells other users of
 * the server nothing about the request.
 */
function promptIdOf(idempotency_key: string): string {
  const hex = createHash('sha256').update(`farebox:${idempotency_key}`).digest('hex');
  const [a, b, c, d, e] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(13, 16),
    hex.slice(17, 20),
    hex.slice(20, 32),
  ];
  return `${a}-${b}-5${c}-a${d}-${e}`;
}

/** The caller's seed or a random one; null if the workflow takes none or the seed is no number. */
function seedOf(input: Record<string, unknown>, { inputs }: Workflow): JsonNumber | null {
  if (!Object.hasOwn(inputs, seedField)) return null;
  const given = input[seedField] ?? null;
  return isJsonNumber(given) ? given : given === null ? randomInt(seedMax) : null;
}

async function poll(handle: Handle, signal: AbortSignal, parts: Parts): Promise<JobState> {
  const { prompt_id, workflow, seed } = handle;
  const id = String(prompt_id);
  const { workflows, api } = parts;
  const end = async () => {
    const entry = await historyOf(id, signal, parts);
    const own = workflows.get(String(workflow)) ?? null;
    return entry && endOf(entry, own, isJsonNumber(seed) ? seed : null, api);
  };
  const state = (await end()) ?? queuedState(id, await readQueue(signal, parts)) ?? (await end());
  if (state === null)
    return { state: 'missing', message: 'the job is neither in its history nor in its queue' };
  return 'code' in state ? { ...state, message: api.redact(state.message) } : state;
}

/** Null if the queue does not have the job. */
function queuedState(id: string, { running, pending }: Queue): JobState | null {
  if (running.some((job) => job.prompt_id === id)) return { state: 'running' };
  const own = pending.find((job) => job.prompt_id === id);
  if (!own) return null;
  const before = pending.filter((job) => job.number < own.number).length + running.length;
  return { state: 'running', logs: [`Waiting in the queue of ComfyUI; jobs ahead: ${before}.`] };
}

/**
 * Looks in the history, in the queue, and in the history again, because the job may have ended in
 * between.
 */
async function find(key: string, signal: AbortSignal, parts: Parts): Promise<Handle | null> {
  const prompt_id = promptIdOf(key);
  const inHistory = async () => {
    const entry = await historyOf(prompt_id, signal, parts);
    return entry && (queuedJob(entry.prompt)?.extra_data ?? {});
  };
  const inQueue = async () => {
    const { running, pending } = await readQueue(signal, parts);
    const own = [...running, ...pending].find((job) => job.prompt_id === prompt_id);
    return own?.extra_data ?? null;
  };
  const extra_data = (await inHistory()) ?? (await inQueue()) ?? (await inHistory());
  if (extra_data === null) return null;
  const { workflow, seed } = asObject(extra_data.farebox) ?? {};
  return {
    prompt_id,
    ...(typeof workflow === 'string' && { workflow }),
    ...(isJsonNumber(seed) && { seed }),
  };
}

/**
 * Cancels only our own job: a waiting job is removed from the queue, a running one is interrupted
 * by its id. An older server ignores the id and would interrupt whatever runs, so the interrupt is
 * sent only while our job is running.
 */
async function cancel(handle: Handle, signal: AbortSignal, parts: Parts): Promise<void> {
  const { api, tools } = parts;
  const prompt_id = String(handle.prompt_id);
  const ask = async (path: string, json: unknown) =>
    demandStop(await api.send({ method: 'POST', path, json, signal }), tools.now());
  await ask('/queue', { delete: [prompt_id] });
  const { running } = await readQueue(signal, parts);
  if (running.some((job) => job.prompt_id === prompt_id)) await ask('/interrupt', { prompt_id });
}

/** Null if the history does not have the job. */
async function historyOf(id: string, signal: AbortSignal, { api, tools }: Parts) {
  const path = `/history/${encodeURIComponent(id)}`;
  const reply = await api.send({ path, maxBytes: historyMaxBytes, signal });
  const entries = asObject(jsonOf(reply.body));
  if (reply.status !== 200 || entries === null)
    throw pollFault(outcomeOfReply(reply, tools.now()), api.redact(saidBy(reply)));
  // An unexpected body with status 200 does not prove that the job is missing.
  if (Object.keys(entries).length > 0 && !Object.hasOwn(entries, id))
    throw new Error(api.redact(saidBy(reply)));
  return asObject(entries[id]);
}

async function readQueue(signal: AbortSignal, { api, tools }: Parts): Promise<Queue> {
  const reply = await api.send({ path: '/queue', maxBytes: queueMaxBytes, signal });
  const queue = reply.status === 200 ? queueOf(jsonOf(reply.body)) : null;
  if (queue === null)
    throw pollFault(outcomeOfReply(reply, tools.now()), api.redact(saidBy(reply)));
  return queue;
}
