import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { messageOf } from '../../lib/unknown.ts';
import { outcomeUnreadable } from '../inputs.ts';
import { JsonBody } from '../json-body.ts';
import { errorIn } from '../../core/apis/read-reply.ts';
import { isObject, objectOf } from '../../lib/json.ts';
import {
  blamesInput,
  demandStop,
  jsonOf,
  messageIn,
  pollFault,
  outcomeOfFault,
  saysLater,
} from '../replies.ts';
import {
  CallbackRefused,
  type Callback,
  type Handle,
  type JobState,
  type StartJob,
  type StartOutcome,
  type Upstream,
  type UpstreamTools,
} from '../upstream.ts';
import { NotHandedOver, handOverFiles } from './files.ts';
import { readOptions, type CallForm, type HttpJobOptions } from './options.ts';
import { textAt, valueAt, valuesAt, type Path } from './path.ts';
import { jobState } from './result.ts';
import { stateOf } from '../states.ts';
import { verifySignature } from './signature.ts';
import { verdictOf } from './verdict.ts';
import { createWire, sentOf, type JobCall, type JobWire } from './wire.ts';

/**
 * The adapter for any service that creates a job, returns its id, is polled, and finally returns
 * the addresses of the outputs. The definition's options describe the service.
 */

const submitLimits = { maxBytes: 1024 * 1024, timeoutMs: 60_000 };
/** The reply itself may contain an output, as a `data:` address. */
const pollLimits = { maxBytes: 64 * 1024 * 1024, timeoutMs: 40_000 };
const checkLimits = { maxBytes: 8 * 1024 * 1024, timeoutMs: 20_000 };
const modelsMax = 10_000;
/** Allowed form of an id, because it becomes part of an address and of a row. */
const idForm = /^(?!\.{1,2}$)[\x21-\x7e]{1,300}$/;
const addressMax = 2000;

interface Parts {
  settings: UpstreamSettings;
  tools: UpstreamTools;
  options: HttpJobOptions;
  wire: JobWire;
}

/** Throws an Error with words for the operator if the options contradict each other. */
export function createHttpJob(settings: UpstreamSettings, tools: UpstreamTools): Upstream {
  const options = readOptions(settings.options);
  const parts = { settings, tools, options, wire: createWire(settings, options, tools) };
  const { callback, check, models, cancel } = options;
  const callsBack = callback !== null && (callback.signature === null || settings.secret !== null);
  return {
    name: settings.name,
    class: classOf(options, callsBack),
    concurrency: settings.concurrency,
    start: (job) => start(parts, callsBack ? job : { ...job, callback_url: null }),
    poll: (handle, signal) => poll(parts, handle, signal),
    ...(cancel && { cancel: (handle, signal) => stop(parts, cancel, handle, signal) }),
    ...(options.id === null && { find: (key, signal) => find(parts, key, signal) }),
    ...(callsBack && { callback: async (call) => named(parts, call) }),
    ...(check && { check: (signal) => tried(parts, check, signal) }),
    ...(models && { models: (signal) => listed(parts, models, signal) }),
  };
}

function classOf(
  { idempotency_header, id }: HttpJobOptions,
  callsBack: boolean,
): Upstream['class'] {
  if (idempotency_header !== null) return 'A';
  if (id === null) return 'B';
  return callsBack ? 'C+' : 'C';
}

async function start(parts: Parts, job: StartJob): Promise<StartOutcome> {
  const { options, wire, tools } = parts;
  const body = new JsonBody();
  const outcome = await handOverFiles(job, options, wire, tools, body).then(
    (input) => submit(parts, job, input, body),
    (error: unknown): StartOutcome => {
      if (error instanceof NotHandedOver) return error.outcome;
      const unreadable = outcomeUnreadable(error);
      if (unreadable === null) throw error;
      return unreadable;
    },
  );
  if (!('message' in outcome)) return outcome;
  return { ...outcome, message: wire.shown(outcome.message) };
}

async function submit(
  { options, wire, tools, settings }: Parts,
  job: StartJob,
  input: Record<string, unknown>,
  own: JsonBody,
): Promise<StartOutcome> {
  const { request_id, idempotency_key, model, callback_url, signal } = job;
  const values = { input, model, request_id, idempotency_key, callback_url };
  const sent = orNull(() => sentOf(wire, options.submit, values));
  if (sent === null) {
    const message = "the address of options.submit is not valid with this model's name";
    return { outcome: 'not_accepted', why: 'model', message };
  }
  const { idempotency_header } = options;
  const repeat = idempotency_header === null ? {} : { [idempotency_header]: idempotency_key };
  const headers = { ...sent.headers, ...repeat };
  const form = sent.body === undefined ? undefined : own.write(sent.body);
  const reply = await wire
    .send({ ...sent, headers, ...(form && { form }) }, { ...submitLimits, signal })
    .catch(outcomeOfFault);
  if ('outcome' in reply) return reply;
  const verdict = verdictOf(reply, options, tools.now());
  if (!verdict.ok) return verdict.outcome;
  const handle = handleIn(verdict.json, options, settings.url, job);
  if (handle === null) return withoutJob(verdict.json);
  const { poll_after_ms } = options;
  return { outcome: 'accepted', handle, ...(poll_after_ms !== null && { poll_after_ms }) };
}

/** The outcome of a success without a job; words that refuse the input prove that there is none. */
function withoutJob(json: unknown): StartOutcome {
  const { error: stated, success } = objectOf(json);
  const error = isObject(json) && success !== true ? errorIn(json) : null;
  const isStated = Boolean(stated) || success === false || error?.code !== undefined;
  const said = isStated ? messageIn(error) : null;
  if (said !== null && blamesInput(error, said)) return { outcome: 'rejected', message: said };
  return { outcome: 'unknown', message: 'its answer has no job id', answer: 'unreadable' };
}

function orNull<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}

/** Null if the reply contains no job that can be polled. */
function handleIn(
  json: unknown,
  options: HttpJobOptions,
  base: string,
  job: StartJob,
): Handle | null {
  if (options.id === null) return { id: job.idempotency_key };
  const id = idIn(json, options.id);
  if (id === null) return null;
  const address = addressIn(json, options, base);
  if (address !== null) return { id, address };
  return options.poll === null ? null : { id };
}

function idIn(json: unknown, paths: readonly Path[]): string | null {
  const id = textAt(json, paths);
  return id !== undefined && idForm.test(id) ? id : null;
}

/** The poll address that the service gave; null if another server would get our key. */
function addressIn(json: unknown, options: HttpJobOptions, base: string): string | null {
  const { poll_address } = options;
  const text = poll_address === null ? undefined : valueAt(json, poll_address);
  if (typeof text !== 'string' || text.length > addressMax || !URL.canParse(text, base))
    return null;
  const { href } = new URL(text, base);
  return isOwn(href, options, base) ? href : null;
}

/** Whether our key may be sent there: to the origin of `base`, or to a host of the options. */
function isOwn(address: string, { poll_hosts }: HttpJobOptions, base: string): boolean {
  const [{ origin, protocol, host }, own] = [new URL(address), new URL(base)];
  return (
    origin === own.origin ||
    (protocol === own.protocol &&
      poll_hosts.some((each) => URL.parse(`${protocol}//${each}`)?.host === host))
  );
}

async function poll(parts: Parts, handle: Handle, signal: AbortSignal): Promise<JobState> {
  const { poll_after_ms } = parts.options;
  const early = { state: 'running', ...(poll_after_ms !== null && { poll_after_ms }) } as const;
  return (await look(parts, handle, signal)) ?? early;
}

/** Null if the service tells nothing yet, not even that it knows the job. */
async function look(parts: Parts, handle: Handle, signal: AbortSignal): Promise<JobState | null> {
  const { options, wire, tools } = parts;
  const reply = await wire
    .send(lookOf(parts, handle), { ...pollLimits, signal })
    .catch((error: unknown) => {
      throw new Error(wire.shown(String(messageOf(error))), { cause: error });
    });
  if (saysLater(reply)) return null;
  const verdict = verdictOf(reply, options, tools.now());
  const json = verdict.ok ? verdict.json : jsonOf(reply.body);
  const isNamed = idIn(json, options.id ?? []) === String(handle.id);
  if (verdict.ok) return jobState(json, options, wire.shown, isNamed);
  const { outcome } = verdict;
  const message = wire.shown(outcome.message);
  // A poll contains no input that could be wrong, so a final refusal means that the job is unknown.
  const isGone =
    outcome.outcome === 'rejected' ||
    (outcome.outcome === 'not_accepted' && outcome.why === 'model');
  const isFinal = isGone && !transient.has(reply.status);
  // A service may tell a failure by a status; bare words such as `error` may be of the call.
  const isOfJob = isNamed || (isFinal && !goneStatuses.has(reply.status));
  if (isOfJob && !ofCall.has(reply.status)) {
    const word = textAt(json, options.status);
    const state = /^(?:error|fail)$/i.test(word ?? '') ? 'running' : stateOf(word, options.words);
    if (state === 'failed' || state === 'stopped')
      return jobState(json, options, wire.shown, isNamed);
  }
  if (isFinal) return { state: 'missing', message };
  throw pollFault(outcome, `a poll was answered with: ${message}`);
}

const goneStatuses = new Set([404, 410]);
/** Statuses that tell of the call, whatever the body says. */
const ofCall = new Set([401, 402, 403, 408, 425, 429, 502, 503, 504]);
/** Statuses that are temporary for a poll, although they would refuse a start. */
const transient = new Set([405, 408, 409, 425, 429]);

function lookOf({ options, wire, settings }: Parts, handle: Handle): JobCall {
  const { poll: call } = options;
  const { id, address } = handle;
  const isOurs =
    typeof address === 'string' && URL.canParse(address) && isOwn(address, options, settings.url);
  if (isOurs) return { url: address, method: 'GET' };
  if (call === null)
    throw new Error('the address of the job is not stored, or leads to another host now');
  return sentOf(wire, call, { id: String(id) });
}

/** The job's id is the idempotency key that we sent, so a poll shows whether the job exists. */
async function find(parts: Parts, key: string, signal: AbortSignal): Promise<Handle | null> {
  const handle = { id: key };
  const told = await look(parts, handle, signal);
  if (told === null) throw new Error('the reply to a look-up has no state');
  return told.state === 'missing' ? null : handle;
}

async function stop(
  { wire, options, tools }: Parts,
  call: CallForm,
  { id }: Handle,
  signal: AbortSignal,
): Promise<void> {
  const limits = { ...submitLimits, signal };
  const reply = await wire.send(sentOf(wire, call, { id: String(id) }), limits);
  const now = tools.now();
  const verdict = verdictOf(reply, options, now);
  demandStop(reply, now, verdict.ok ? null : verdict.outcome);
}

function named({ options, settings, tools }: Parts, call: Callback): Handle | null {
  const { handle, signature } = options.callback!;
  const json = jsonOf(call.body);
  const id = idIn(json, handle);
  if (signature !== null) verifySignature(signature, call, id, settings.secret!, tools.now());
  else if (json === undefined) throw new CallbackRefused('its body is not JSON');
  return id === null ? null : { id };
}

async function tried(
  { wire, options, tools }: Parts,
  call: CallForm,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const reply = await wire.send(sentOf(wire, call, {}), { ...checkLimits, signal });
    const verdict = verdictOf(reply, options, tools.now());
    if (verdict.ok) return null;
    const said = wire.shown(verdict.outcome.message);
    const why = 'why' in verdict.outcome ? verdict.outcome.why : undefined;
    if (why === 'credential') return `it rejects the key: ${said}`;
    return why === 'account' ? `its account is out of credit: ${said}` : `it answers: ${said}`;
  } catch (error) {
    return wire.shown(messageOf(error));
  }
}

async function listed(
  { wire, options, tools }: Parts,
  { names, ...call }: NonNullable<HttpJobOptions['models']>,
  signal: AbortSignal,
): Promise<string[]> {
  const reply = await wire.send(sentOf(wire, call, {}), { ...checkLimits, signal });
  const verdict = verdictOf(reply, options, tools.now());
  if (!verdict.ok) throw new Error(wire.shown(verdict.outcome.message));
  const found = valuesAt(verdict.json, names).filter((name) => typeof name === 'string');
  return found.slice(0, modelsMax);
}
