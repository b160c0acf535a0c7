import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { UnknownInput } from '../../index.ts';
import { fromJson, messageOf } from '../../unknown.ts';
import { usage } from '../exits.ts';
import { makeFolder, tryFile } from '../folders.ts';
import type { Fields } from './input.ts';
import type { SavedFile } from './save.ts';
import { stateFolder, writePrivately } from '../settings.ts';

/**
 * Requests submitted from this computer, each in a small file, so that several commands can run at
 * once and a crash loses none. The file is written before the submit, with the idempotency key, so
 * that a repeated submit does not make a second request.
 */
export interface KeptJob {
  idempotency_key: string;
  base_url: string;
  model_id: string;
  created_at: string;
  /** Null until the service has answered. */
  request_id: string | null;
  /** The input to submit; removed once the id is known. */
  input?: Fields;
  webhook_url?: string;
  metadata?: Record<string, string>;
  /** Fields that the model does not have, as reported at the submit. */
  unknown_inputs?: UnknownInput[];
  /** The price that was accepted. */
  ceiling_usd_micro: string;
  /** The value of --out, made absolute; or "-". */
  out: string | null;
  /** The folder of the outputs if `out` is null. */
  folder: string;
  save: boolean;
  /** The outputs saved so far, if others are still to be saved. */
  saved?: SavedFile[];
  /** True once there is nothing to resume: the outputs are saved or unwanted, or there are none. */
  ended: boolean;
}

const keptMost = 50;

function folder(): string {
  return path.join(stateFolder(), 'jobs');
}

function fileOf({ created_at, idempotency_key }: KeptJob): string {
  return path.join(folder(), `${created_at.replaceAll(/[^\dT]/g, '')}-${idempotency_key}.json`);
}

/**
 * Throws, before anything is spent, if jobs cannot be stored: a run that cannot be resumed might be
 * paid twice.
 */
export function checkJobs(): void {
  inFolder((where) => tryFile(where, 'job'));
}

function inFolder<T>(work: (where: string) => T): T {
  const where = folder();
  try {
    makeFolder(where, 0o700);
    return work(where);
  } catch (error) {
    throw usage(
      `Nothing can be saved in ${where}: ${messageOf(error)}.`,
      'Set XDG_STATE_HOME to a writable folder, in which `fare resume` will find the run.',
    );
  }
}

export function keepJob(job: KeptJob): void {
  writePrivately(fileOf(job), `${JSON.stringify(job, null, 2)}\n`);
  prune();
}

export function dropJob(job: KeptJob): void {
  rmSync(fileOf(job), { force: true });
}

/** Newest first. */
export function keptJobs(): KeptJob[] {
  return names().flatMap((name) => {
    try {
      return [fromJson<KeptJob>(readFileSync(path.join(folder(), name), 'utf8'))];
    } catch {
      // Another command has just removed the file.
      return [];
    }
  });
}

function names(): string[] {
  return inFolder((where) => readdirSync(where))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .reverse();
}

function prune(): void {
  for (const name of names().slice(keptMost)) rmSync(path.join(folder(), name), { force: true });
}

/**
 * The request id in a text; `last` means the newest request submitted here. Throws if the text is
 * neither.
 */
export function requestIdOf(text: string): string {
  if (text === 'last') {
    const job = keptJobs().find(({ request_id }) => request_id !== null);
    if (job) return job.request_id!;
    throw usage('Nothing was run on this computer yet.', '`fare list` lists all requests.');
  }
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw usage(
    `${JSON.stringify(text)} is not a request id.`,
    'Ids look like 0199c0de-1234-7abc-8def-0123456789ab; `fare list` lists them, and "last" is your newest.',
  );
}
