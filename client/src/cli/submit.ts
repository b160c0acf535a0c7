import { formatUsd, type Farebox, type QueuedRequest } from '../index.ts';
import { exits, Stop } from './exits.ts';
import { dropJob, keepJob, type KeptJob } from './jobs.ts';

/** Submits under the kept idempotency key: again and again it is one request. */
export async function submitKept(client: Farebox, job: KeptJob): Promise<QueuedRequest> {
  let submitted: QueuedRequest;
  try {
    const sent = await client.submit(job.model_id, job.input!, {
      idempotencyKey: job.idempotency_key,
      webhookUrl: job.webhook_url,
    });
    submitted = sent.submitted!;
  } catch (error) {
    // Refused: there is no request. Without an answer nobody knows, so it stays.
    const { status } = error as { status?: number | null };
    if (typeof status === 'number' && status < 500) dropJob(job);
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
