import { stateWord, type JobWord } from '../states.ts';
import { namesIn } from './template.ts';
import { parsePath, type Path } from './path.ts';
import { parseSignature, type Signature, type SignatureForm } from './signature.ts';

/**
 * A catalog file's description of a service of the pattern "create a job, get its id, poll it,
 * fetch its outputs". `catalog/schema.json` defines the form; rules that a schema cannot express
 * are checked here.
 */

/** One path, or several: the first that leads to a value is used. */
type PathForm = string | readonly string[];
type Texts = Readonly<Record<string, string>>;

/** Meaning of a service's own code for a start or a poll. */
export type CodeMeaning = 'busy' | 'account' | 'credential' | 'rejected' | 'missing';

export interface CallForm {
  method?: string;
  path: string;
  query?: Texts;
  headers?: Texts;
  body?: unknown;
}

interface OptionsForm {
  auth: 'bearer' | 'key' | { header: string } | { query: string };
  submit: CallForm;
  id: PathForm;
  poll: Omit<CallForm, 'path'> & {
    path?: string;
    address?: PathForm;
    hosts?: readonly string[];
    every_seconds?: number;
  };
  status: PathForm;
  words?: Readonly<Record<string, JobWord>>;
  outputs: readonly (string | { path: string; field?: string })[];
  fields?: Texts;
  progress?: PathForm;
  progress_of?: number;
  error?: PathForm;
  rejected_when?: { code?: PathForm; is?: readonly Scalar[]; says?: readonly string[] };
  ok_when?: { path: PathForm; is: readonly Scalar[]; else?: Readonly<Record<string, CodeMeaning>> };
  cancel?: CallForm;
  files?: {
    upload?: { path: string; field?: string; fields?: Texts; reply: PathForm; max_bytes?: number };
    data_uri_max_bytes?: number;
    link?: boolean;
  };
  callback?: { handle?: PathForm; signature: SignatureForm };
  idempotency_header?: string;
  quantity?: PathForm;
  cost_usd?: PathForm | { path: PathForm; each: string };
  check?: CallForm;
  models?: CallForm & { names: string };
}

type Scalar = string | number | boolean | null;

export interface HttpJobOptions {
  auth: OptionsForm['auth'];
  submit: CallForm;
  /** Null: the idempotency key that we send is the job's id. */
  id: readonly Path[] | null;
  poll: CallForm | null;
  poll_address: readonly Path[] | null;
  /** Further hosts of the service, which get the key if the poll address is there. */
  poll_hosts: readonly string[];
  poll_after_ms: number | null;
  status: readonly Path[];
  words: Readonly<Record<string, JobWord>>;
  outputs: readonly { path: Path; field: string | null }[];
  fields: readonly (readonly [string, readonly Path[]])[];
  progress: readonly Path[];
  /** The number that stands for a finished job; null: 1 or 100. */
  progress_of: number | null;
  error: readonly Path[];
  rejected_when: { code: readonly Path[]; is: readonly string[]; says: readonly string[] };
  ok_when: {
    path: readonly Path[];
    is: readonly string[];
    meanings: ReadonlyMap<string, CodeMeaning>;
  } | null;
  cancel: CallForm | null;
  files: Files;
  callback: { handle: readonly Path[]; signature: Signature | null } | null;
  idempotency_header: string | null;
  quantity: readonly Path[];
  cost_usd: { path: readonly Path[]; each_usd: number };
  check: CallForm | null;
  models: (CallForm & { names: Path }) | null;
}

export interface Files {
  upload: {
    path: string;
    field: string;
    fields: Texts;
    reply: readonly Path[];
    max_bytes: number;
  } | null;
  data_uri_max_bytes: number;
  link: boolean;
}

const uploadMaxBytes = 100 * 1024 * 1024;
const ownId = '$idempotency_key';

/** Throws an Error with words for the operator if the options contradict each other. */
export function readOptions(options: Record<string, unknown>): HttpJobOptions {
  // The options have been checked against the schema of catalog files.
  const form = options as unknown as OptionsForm;
  const { submit, poll, callback } = form;
  const idIsOurs = form.id === ownId;
  checkNames(form, idIsOurs);
  const { address, hosts = [], every_seconds, path, ...call } = poll;
  return {
    auth: form.auth,
    submit: { ...submit, method: submit.method ?? 'POST' },
    id: idIsOurs ? null : pathsOf(form.id),
    poll: path === undefined ? null : { ...call, path },
    poll_address: address === undefined ? null : pathsOf(address),
    poll_hosts: hosts,
    poll_after_ms: every_seconds === undefined ? null : every_seconds * 1000,
    status: pathsOf(form.status),
    words: wordsOf(form.words),
    outputs: form.outputs.map((each) =>
      typeof each === 'string'
        ? { path: parsePath(each), field: null }
        : { path: parsePath(each.path), field: each.field ?? null },
    ),
    fields: Object.entries(form.fields ?? {}).map(([name, at]) => [name, pathsOf(at)] as const),
    progress: pathsOf(form.progress),
    progress_of: form.progress_of ?? null,
    error: pathsOf(form.error),
    rejected_when: {
      code: pathsOf(form.rejected_when?.code),
      is: (form.rejected_when?.is ?? []).map(codeText),
      says: (form.rejected_when?.says ?? []).map((word) => word.toLowerCase()),
    },
    ok_when: okWhen(form.ok_when),
    cancel: form.cancel === undefined ? null : { method: 'POST', ...form.cancel },
    files: filesOf(form.files),
    callback: callback
      ? { handle: pathsOf(callback.handle), signature: parseSignature(callback.signature) }
      : null,
    idempotency_header: form.idempotency_header ?? null,
    quantity: pathsOf(form.quantity),
    cost_usd: costOf(form.cost_usd),
    check: form.check ?? null,
    models: form.models ? { ...form.models, names: parsePath(form.models.names) } : null,
  };
}

/** A code as the text that is compared; a missing code becomes "null". */
export function codeText(code: unknown): string {
  return String(code ?? null).trim();
}

function checkNames({ submit, poll, callback, id, idempotency_header }: OptionsForm, own: boolean) {
  const sent = namesIn([submit.path, submit.query, submit.headers, submit.body]);
  const asked = namesIn([poll.path, poll.query, poll.headers, poll.body]);
  if (!sent.includes('input')) throw new Error('submit does not send the input: use $input');
  if (poll.path !== undefined && !asked.includes('id'))
    throw new Error(
      'poll does not send the id of the job: use {id} in its path or $id in its body',
    );
  if (callback && !sent.includes('callback_url'))
    throw new Error('callback needs $callback_url in the query, headers or body of submit');
  if (!callback && sent.includes('callback_url'))
    throw new Error(
      'submit sends $callback_url, so the field callback is needed: it says how to read a callback',
    );
  if (callback && poll.path === undefined)
    throw new Error('callback needs poll.path, because a callback has only the id of the job');
  if (own && !sent.includes('idempotency_key'))
    throw new Error(`id is ${ownId}, but submit does not send ${ownId}`);
  if (own && idempotency_header !== undefined)
    throw new Error('the id is already our idempotency key: leave out idempotency_header');
  if (own && poll.path === undefined) throw new Error(`id is ${ownId}, so poll needs a path`);
  if (!own && typeof id === 'string' && id.startsWith('$'))
    throw new Error(`id must be a path into the reply of submit, or ${ownId}`);
}

function pathsOf(form: PathForm | undefined): readonly Path[] {
  if (form === undefined) return [];
  return (typeof form === 'string' ? [form] : form).map(parsePath);
}

function wordsOf(form: OptionsForm['words']): Readonly<Record<string, JobWord>> {
  const words = Object.entries(form ?? {}).map(
    ([word, state]) => [stateWord(word), state] as const,
  );
  return Object.fromEntries(words);
}

function okWhen(form: OptionsForm['ok_when']): HttpJobOptions['ok_when'] {
  if (form === undefined) return null;
  const is = form.is.map(codeText);
  const meanings = new Map(Object.entries(form.else ?? {}));
  const both = is.find((code) => meanings.has(code));
  if (both !== undefined) throw new Error(`ok_when has ${both} both in "is" and in "else"`);
  return { path: pathsOf(form.path), is, meanings };
}

function filesOf(form: OptionsForm['files'] = { link: true }): Files {
  const { upload, data_uri_max_bytes = 0, link = false } = form;
  if (upload === undefined) return { upload: null, data_uri_max_bytes, link };
  const { path, field = 'file', fields = {}, reply, max_bytes = uploadMaxBytes } = upload;
  return {
    upload: { path, field, fields, reply: pathsOf(reply), max_bytes },
    data_uri_max_bytes,
    link,
  };
}

function costOf(form: OptionsForm['cost_usd']): HttpJobOptions['cost_usd'] {
  if (typeof form === 'object' && 'path' in form)
    return { path: pathsOf(form.path), each_usd: Number(form.each) };
  return { path: pathsOf(form), each_usd: 1 };
}
