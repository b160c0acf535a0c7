import { z } from 'zod';
import {
  FareboxError,
  formatUsd,
  isFinal,
  type Estimate,
  type Farebox,
  type Job,
  type Model,
  type RequestCard,
  type Status,
} from '../../index.ts';
import { fieldOf, messageOf } from '../../unknown.ts';
import { unknownTexts } from '../help/unknown-inputs.ts';
import type { Hold } from './budget.ts';
import { waitFor, type Call, type Desk } from './calls.ts';
import { inputSchema, modelIdSchema, sessionSchema } from './models.ts';
import { isExpired, readOutputs, type Outputs } from './outputs.ts';
import { answer, ToolError, type Answer } from './replies.ts';
import { afterSubmit, agree, maxUsdText } from './spending.ts';

export const waitSchema = z.number().min(0).max(3600);

const fileSchema = z.looseObject({
  index: z.int(),
  uri: z.string().describe('The URI of the resource with this file.'),
  url: z.string().describe('A download link that needs no key and is valid for a day.'),
  file_name: z.string(),
  content_type: z.string(),
  file_size: z.int(),
});

/** The state of a request, as all tools report it. */
export const requestSchema = z.object({
  request_id: z.string(),
  model_id: z.string(),
  status: z.enum(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED']),
  message: z.string().describe('The outcome, and what to do next.'),
  quoted_usd: z.string().describe('The highest possible charge.'),
  charged_usd: z.string().nullable().describe('Null until the request has ended.'),
  quoted_usd_micro: z.string(),
  charged_usd_micro: z.string().nullable(),
  progress: z.number().optional(),
  queue_position: z.number().optional(),
  outputs: z.array(fileSchema),
  output: z.looseObject({}).describe('Outputs of the model other than files.'),
  unknown_inputs: z
    .array(z.object({ field: z.string(), did_you_mean: z.string().nullable() }))
    .optional()
    .describe('Fields of the input that the model does not have: they had no effect.'),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  session: sessionSchema,
});

export function addGenerate(desk: Desk): void {
  desk.server.registerTool(
    'generate',
    {
      title: 'Generate an image or a video',
      description:
        'Submits one generation, waits, and returns its outputs. It SPENDS the money of the user: ' +
        'call get_price first and pass its price as max_usd. A generation that fails costs ' +
        'nothing. If it takes longer than wait_seconds, the reply has the request_id: continue ' +
        'with get_request, and do not submit it again. For text models use chat.',
      inputSchema: {
        model_id: modelIdSchema,
        input: inputSchema,
        max_usd: z.number().min(0).optional().describe(maxUsdText),
        wait_seconds: waitSchema.default(45).describe('How long to wait for the outputs.'),
      },
      outputSchema: requestSchema,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    ({ model_id, input, max_usd, wait_seconds }, call) =>
      answer(() => generate(desk, { model_id, input, max_usd, wait_seconds }, call)),
  );
}

interface Wish {
  model_id: string;
  input: Record<string, unknown>;
  max_usd: number | undefined;
  wait_seconds: number;
}

async function generate(desk: Desk, wish: Wish, call: Call): Promise<Answer> {
  const { model_id, input, max_usd, wait_seconds } = wish;
  const { client } = desk;
  await refuseText(client, model_id, call.signal);
  const estimate = await client.estimate(model_id, input, { signal: call.signal });
  const hold = await agree(desk, estimate, max_usd, call);
  const job = await submit(desk, wish, hold);
  try {
    // The submit itself is not aborted, because then the request's id would be unknown.
    call.signal.throwIfAborted();
    const status = await waitFor(desk, job.requestId, wait_seconds, call);
    const answered = withUnknown(await describeRequest(desk, status), estimate);
    if (status.status === 'FAILED' || status.status === 'CANCELLED') throw unfinished(answered);
    return answered;
  } catch (error) {
    if (call.signal.aborted) await leave(desk, job, call);
    throw named(error, job.requestId);
  }
}

function withUnknown({ fields, blocks }: Answer, estimate: Estimate): Answer {
  const { unknown_inputs } = estimate;
  if (!unknown_inputs) return { fields, blocks };
  const message = [fields.message, ...unknownTexts(estimate)].join(' ');
  return { fields: { ...fields, message, unknown_inputs }, blocks };
}

/**
 * Refuses text models before the price is asked, because their price depends on token counts, which
 * this tool does not take.
 */
async function refuseText(client: Farebox, model_id: string, signal: AbortSignal): Promise<void> {
  let model: Model;
  try {
    model = await client.models.get(model_id, { signal });
  } catch (error) {
    // The estimate explains unknown ids.
    if (error instanceof FareboxError && error.status === 404) return;
    throw error;
  }
  if (model.kind === 'text')
    throw new ToolError('use_chat', `${model_id} is a text model: call the tool chat.`);
}

/** Adds the request's id to an error after the submit; without it, the outputs would be lost. */
function named(error: unknown, requestId: string): ToolError {
  if (error instanceof ToolError) return error;
  const message = messageOf(error);
  const code = error instanceof FareboxError ? error.code : 'internal_error';
  return new ToolError(
    code,
    `Request ${requestId} was submitted, but checking it failed: ${message} ` +
      'Continue with get_request; do not submit it again.',
    { request_id: requestId },
  );
}

async function submit(desk: Desk, { model_id, input }: Wish, hold: Hold): Promise<Job> {
  let job: Job;
  try {
    job = await desk.client.submit(model_id, input);
  } catch (error) {
    throw afterSubmit(desk, hold, error);
  }
  hold.requestId = job.requestId;
  const quoted = job.submitted?.quoted_usd_micro ?? hold.amount;
  if (quoted <= hold.amount) return job;
  // The price rose between the estimate and the submit. If the cancel fails, the new price is
  // spent.
  hold.amount = quoted;
  const undone = await cancelled(desk, job.requestId);
  throw new ToolError(
    'price_not_agreed',
    `The price rose to ${formatUsd(quoted)} before the submit. Request ${job.requestId} ` +
      (undone ? 'was cancelled; nothing is charged.' : 'is already running; see get_request.'),
    { price_usd_micro: quoted, request_id: job.requestId },
  );
}

/** The caller has left: cancels a queued request, and reports a running one. */
async function leave(desk: Desk, job: Job, call: Call): Promise<void> {
  const { requestId } = job;
  const undone = await cancelled(desk, requestId);
  const data = undone
    ? `Request ${requestId} was cancelled while it was in the queue. Nothing is charged.`
    : `Request ${requestId} could no longer be cancelled: it is running or has ended. It is charged ` +
      'unless it fails; get_request returns its outputs.';
  const level = undone ? ('info' as const) : ('warning' as const);
  // A cancelled call gets no reply, so a log message is the only way to report it.
  await desk.server.sendLoggingMessage({ level, logger: 'generate', data }, call.sessionId);
}

/** Cancels the request while that is free; returns whether it was cancelled. */
export async function cancelled({ client, budget }: Desk, requestId: string): Promise<boolean> {
  try {
    await client.cancel(requestId);
  } catch {
    return false;
  }
  budget.settleBy({ request_id: requestId, charged_usd_micro: 0n });
  return true;
}

/** The state of a request, with its outputs if there are any. */
export async function describeRequest(desk: Desk, status: Status): Promise<Answer> {
  const { request_id } = status;
  const card = await desk.client.requests.get(request_id);
  desk.budget.settleBy(card);
  const none: Outputs = { files: [], fields: {}, blocks: [] };
  let gone = false;
  const made =
    card.status === 'COMPLETED'
      ? await readOutputs(desk, request_id).catch((error: unknown) => {
          gone = isExpired(error);
          if (gone) return none;
          throw named(error, request_id);
        })
      : none;
  const { queue_position, progress } = status;
  const running = !isFinal(card);
  return {
    fields: {
      request_id,
      model_id: card.model_id,
      status: card.status,
      message: outcomeMessage(card, gone),
      quoted_usd: formatUsd(card.quoted_usd_micro),
      charged_usd: card.charged_usd_micro === null ? null : formatUsd(card.charged_usd_micro),
      quoted_usd_micro: card.quoted_usd_micro,
      charged_usd_micro: card.charged_usd_micro,
      ...(running && { queue_position, progress }),
      outputs: made.files,
      output: made.fields,
      error: card.error,
      session: desk.budget.view(),
    },
    blocks: made.blocks,
  };
}

function outcomeMessage(
  card: Pick<RequestCard, 'status' | 'charged_usd_micro' | 'error'>,
  gone: boolean,
): string {
  if (gone) return 'Completed, but its outputs are no longer kept.';
  switch (card.status) {
    case 'COMPLETED':
      return `Completed and charged ${formatUsd(card.charged_usd_micro ?? 0n)}.`;
    case 'FAILED':
      return `Failed; nothing was charged. ${card.error?.message ?? ''}`.trim();
    case 'CANCELLED':
      return card.charged_usd_micro
        ? `Cancelled and charged ${formatUsd(card.charged_usd_micro)}.`
        : 'Cancelled; nothing was charged.';
    default:
      return 'Not done yet: call get_request with wait_seconds. Do not submit it again.';
  }
}

function unfinished({ fields }: Answer): ToolError {
  const { error, message, request_id, status, charged_usd } = fields;
  const code = String(fieldOf(error, 'code') ?? 'cancelled');
  return new ToolError(code, String(message), { request_id, status, charged_usd });
}
