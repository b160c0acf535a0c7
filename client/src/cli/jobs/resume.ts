import { formatUsd, type Farebox, type RequestCard } from '../../index.ts';
import { keyed } from '../account.ts';
import { exits, Stop, usage } from '../exits.ts';
import { stopOf } from '../failure.ts';
import { detached, follow, leavable, unsuccessful } from './follow.ts';
import { keepJob, keptJobs, requestIdOf, type KeptJob } from './jobs.ts';
import type { Context } from '../verb.ts';
import { chargeText, saveOutput, type SavedFile } from './save.ts';
import { submitKept } from './submit.ts';
import { checkOut } from './target.ts';
import { printJson, remark } from '../terminal/terminal.ts';

export interface ResumeOptions {
  out?: string;
  force?: boolean;
  preview: boolean;
}

export async function resume(
  context: Context,
  id: string | undefined,
  options: ResumeOptions,
): Promise<void> {
  const client = keyed(context);
  const job = findJob(client, id);
  if (options.out !== undefined) {
    checkOut(options.out, { force: options.force ?? false, count: 1, isText: false });
    Object.assign(job, { out: options.out, folder: process.cwd(), save: true, saved: [] });
  }
  if (job.out === '-' && context.json) throw usage('--out - and --json cannot both use stdout.');
  if (job.request_id === null) {
    remark(context.quiet, `Submitting ${job.model_id} again, under the same idempotency key`);
    await submitKept(client, job, { again: true });
  }
  remark(context.quiet, `Request ${job.request_id}`);
  const { force = false, preview } = options;
  await finish(context, client, job, { force, preview, cancels: false });
}

function findJob(client: Farebox, id: string | undefined): KeptJob {
  const here = keptJobs().filter(({ base_url }) => base_url === client.baseUrl);
  if (id === undefined || id === 'last') {
    const open = here.find(({ ended }) => !ended) ?? (id === 'last' ? here[0] : undefined);
    if (open) return open;
    throw new Stop(
      exits.usage,
      'nothing_to_resume',
      'No request that was run on this computer is still open.',
      '`fare list` lists all requests; `fare download ID` saves outputs again.',
    );
  }
  const request_id = requestIdOf(id);
  return (
    here.find((job) => job.request_id === request_id) ?? {
      // Submitted from another computer, or its file is gone.
      idempotency_key: request_id,
      base_url: client.baseUrl,
      model_id: '',
      created_at: new Date().toISOString(),
      request_id,
      ceiling_usd_micro: '0',
      out: null,
      folder: process.cwd(),
      save: true,
      ended: false,
    }
  );
}

/** Waits for the end, saves the outputs where the job says, and prints the charge. */
export async function finish(
  { json, quiet }: Context,
  client: Farebox,
  job: KeptJob,
  { force, preview, cancels }: { force: boolean; preview: boolean; cancels: boolean },
): Promise<void> {
  const requestId = job.request_id!;
  const end = () => keepJob({ ...job, ended: true });
  let status;
  try {
    status = await follow(client, requestId, { quiet, cancels });
  } catch (error) {
    if (error instanceof Stop && error.exit === exits.interrupted) end();
    throw error;
  }
  if (status.status !== 'COMPLETED') {
    end();
    throw unsuccessful(status);
  }
  const [output, card] = await Promise.all([
    client.response(requestId),
    client.requests.get(requestId),
  ]);
  const { out, folder, save, saved: before = [], unknown_inputs } = job;
  const onSaved = (saved: SavedFile[]) => keepJob({ ...job, saved });
  const how = { out, folder, force, quiet, json, preview, before, onSaved };
  const saveAll = async (signal: AbortSignal) =>
    save ? saveOutput(client, card, output, { ...how, signal }) : [];
  const files = await leavable(saveAll, async () => {
    throw detached(requestId, 'The request is completed, but not all of its outputs are saved.');
  }).catch(async (error: unknown) => {
    throw await unsaved(error, card);
  });
  end();
  const { quoted_usd_micro, charged_usd_micro, model_id } = card;
  if (json) {
    printJson({
      request_id: requestId,
      model_id,
      status: card.status,
      quoted_usd_micro,
      charged_usd_micro,
      unknown_inputs,
      output,
      files,
    });
  }
  remark(quiet, chargeText(formatUsd(charged_usd_micro ?? 0n), formatUsd(quoted_usd_micro)));
}

/**
 * Returns the error for a failure after the submit. It says that the request goes on, because a
 * user who ran it again would pay twice.
 */
export async function goesOn(error: unknown, requestId: string): Promise<unknown> {
  const stop = error instanceof Stop ? null : await stopOf(error);
  if (stop === null) return error;
  return detached(requestId, `${stop.message} The request goes on without this command.`, stop);
}

/**
 * Returns the error if outputs cannot be saved (full disk, missing folder). It says that they are
 * paid for and how to save them.
 */
async function unsaved(error: unknown, card: RequestCard): Promise<unknown> {
  const stop = error instanceof Stop ? error : await stopOf(error);
  if (stop === null || stop.exit === exits.open || stop.code === 'expired') return stop ?? error;
  const paid = formatUsd(card.charged_usd_micro ?? 0n);
  return new Stop(
    exits.open,
    'not_saved',
    `The request is completed and paid for (${paid}), but not all of its outputs are saved: ${stop.message}`,
    `Save them elsewhere: fare resume ${card.request_id} --out PATH`,
    { request_id: card.request_id, because: stop.code },
  );
}
