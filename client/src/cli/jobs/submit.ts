import { FareboxError, formatUsd, type Farebox, type QueuedRequest } from '../../index.ts';
import { about } from '../account.ts';
import { exits, Stop } from '../exits.ts';
import { leavable } from './follow.ts';
import { dropJob, keepJob, type KeptJob } from './jobs.ts';
import { say } from '../terminal/terminal.ts';

/** Statuses that a later attempt would get as well. */
const lasting = new Set([400, 402, 404, 413]);

/**
 * Submits under the stored idempotency key, so that a repeat does not make a second request.
 * `again`: an earlier command may already have submitted it.
 */
export async function submitKept(
  client: Farebox,
  job: KeptJob,
  { again }: { again: boolean },
): Promise<QueuedRequest> {
  let submitted: QueuedRequest;
  try {
    const { idempotency_key: idempotencyKey, webhook_url: webhookUrl, metadata } = job;
    const how = { idempotencyKey, webhookUrl, metadata };
    const submit = (signal: AbortSignal) =>
      about(
        { model_id: job.model_id },
        client.submit(job.model_id, job.input!, { ...how, signal }),
      );
    submitted = (await leavable(submit, () => unknown())).submitted!;
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    if (error.mayHaveBeenAccepted) return unknown(error);
    if (!again) dropJob(job);
    else if (lasting.has(error.status ?? 0) && error.code !== 'unexpected_reply') {
      dropJob(job);
      say('yellow', 'The request may already have been submitted: check with `fare list`.');
    }
    throw error;
  }
  delete job.input;
  job.request_id = submitted.request_id;
  if (submitted.unknown_inputs) job.unknown_inputs = submitted.unknown_inputs;
  keepJob(job);
  // The price changed between the estimate and the submit.
  if (submitted.quoted_usd_micro > BigInt(job.ceiling_usd_micro)) {
    await client.cancel(submitted.request_id);
    dropJob(job);
    throw new Stop(
      exits.money,
      'price_above_limit',
      `The price rose to ${formatUsd(submitted.quoted_usd_micro)} before the request was submitted. The request was cancelled; nothing was charged.`,
      'Run it again to see the new price.',
      { request_id: submitted.request_id },
    );
  }
  return submitted;
}

async function unknown(error?: FareboxError): Promise<never> {
  // The message's other sentences are for programs that keep the idempotency key.
  const why = error ? error.message.split('. ')[0] : 'The service had not answered yet';
  throw new Stop(
    exits.open,
    'outcome_unknown',
    `${why}: it is unknown whether the request was submitted.`,
    'Continue it: fare resume. It stays one request, however often you do that.',
    error && { because: error.code, status: error.status },
  );
}
