import { formatUsd, type Farebox, type QueuedRequest } from '../index.ts';
import { exits, Stop } from './exits.ts';
import { leavable } from './follow.ts';
import { dropJob, keepJob, type KeptJob } from './jobs.ts';

const refusals = new Set([400, 401, 402, 403, 404, 413]);

/** Submits under the kept idempotency key: again and again it is one request. */
export async function submitKept(client: Farebox, job: KeptJob): Promise<QueuedRequest> {
  let submitted: QueuedRequest;
  try {
    const how = { idempotencyKey: job.idempotency_key, webhookUrl: job.webhook_url };
    const submit = (signal: AbortSignal) =>
      client.submit(job.model_id, job.input!, { ...how, signal });
    submitted = (await leavable(submit, unknown)).submitted!;
  } catch (error) {
    // Refused: there is no request. Where no answer came, or only a repeat was too much, nobody
    // knows, so it stays.
    const { status } = error as { status?: number | null };
    if (refusals.has(status ?? 0)) dropJob(job);
    throw error;
  }
  delete job.input;
  job.request_id = submitted.request_id;
  keepJob(job);
  // The price was changed between asking and submitting.
  if (submitted.quoted_usd_micro > BigInt(job.ceiling_usd_micro)) {
    await client.cancel(submitted.request_id);
    dropJob(job);
    throw new Stop(
      exits.money,
      'price_above_limit',
      `The price has risen to ${formatUsd(submitted.quoted_usd_micro)} meanwhile. The request was cancelled; nothing was charged.`,
      'Run it again to see the new price.',
      { request_id: submitted.request_id },
    );
  }
  return submitted;
}

async function unknown(): Promise<never> {
  throw new Stop(
    exits.open,
    'outcome_unknown',
    'The service had not answered yet: whether the request was submitted is not known.',
    'Go on with it: fare resume. However often that is done, it is one request.',
  );
}
