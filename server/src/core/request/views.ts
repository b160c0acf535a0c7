import { isFinal, type Output, type Progress, type Status } from './request.ts';
import { usageOfTokens, type TokenCounts } from '../chat/chat-bill.ts';
import { formatUsd } from '../price/money.ts';
import { shownQuote, type QuoteJson } from '../price/quote-json.ts';
import { failures, type FailureCode, type FailureDetails } from '../errors.ts';
import { fileId } from './file-id.ts';
import type { Kind } from '../catalog/catalog.ts';
import type { UnknownInput } from '../catalog/model-input.ts';
import { callNumber } from './call-number.ts';
import type { Metadata } from './metadata.ts';
import { sign, signCallback, signFile, type CallbackLink } from './signature.ts';
import { itemsOf } from '../../lib/json.ts';

/**
 * A request as callers see it. In JSON, amounts are micro-USD as decimal strings, and times are ISO
 * 8601 in UTC.
 */

export interface Links {
  /** Public base address, ending in /v1. */
  baseUrl: string;
  /** Signs output links. */
  secret: Buffer;
  /** How long outputs are kept after completion. */
  outputTtlSeconds: number;
  /** True if callers outside this machine or network can reach `baseUrl`. */
  isPublic: boolean;
}

export interface RequestFacts {
  id: string;
  key_id: string;
  model_id: string;
  kind: Kind;
  status: Status;
  quoted_usd_micro: bigint;
  charged_usd_micro: bigint | null;
  error_code: FailureCode | null;
  created_at: Date;
  started_at: Date | null;
  completed_at: Date | null;
  /** When its caller asked to stop it while it ran. */
  cancel_requested_at: Date | null;
  metadata: Metadata | null;
  numbered: boolean | null;
  caller_id: string | null;
}

interface StatusRow extends Pick<
  RequestFacts,
  | 'id'
  | 'model_id'
  | 'status'
  | 'error_code'
  | 'created_at'
  | 'started_at'
  | 'completed_at'
  | 'cancel_requested_at'
> {
  error_message: string | null;
  error_details: FailureDetails | null;
  progress: Progress | null;
}

/** How a caller of Replicate's API named the model. */
export interface ReplicateDoor {
  api: 'replicate';
  model: string;
  version: string | null;
}

export interface CardFacts extends RequestFacts {
  input: Record<string, unknown>;
  quote: QuoteJson;
  output: (Record<string, unknown> & { usage?: Usage }) | null;
  error_message: string | null;
  error_details: FailureDetails | null;
  webhook_url: string | null;
  door: ReplicateDoor | null;
  webhook_state: 'pending' | 'delivered' | 'failed' | null;
  webhook_status: number | null;
  quantity: number | null;
  /** Null unless a chat was completed. */
  tokens: TokenCounts | null;
}

/** The usage that a chat call was charged for. */
interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cost_usd_micro: string;
}

/** How long an upstream may fetch a caller's file: its job begins soon after the link is made. */
const fileLinkSeconds = 3600;

/**
 * A link by which an upstream can fetch an uploaded file for a while; null if it cannot reach us.
 */
export function fileUrl(id: string, nowSeconds: number, links: Links): string | null {
  const exp = nowSeconds + fileLinkSeconds;
  const query = signFile(links.secret, { id, exp });
  return links.isPublic ? `${links.baseUrl}/files/${fileId(id)}?${query}` : null;
}

/** The address for callbacks about an attempt; null if the upstream cannot reach us. */
export function callbackUrl(link: CallbackLink, { baseUrl, secret, isPublic }: Links) {
  const { upstream, request_id, attempt } = link;
  const sig = signCallback(secret, link);
  return isPublic ? `${baseUrl}/callbacks/${upstream}/${request_id}/${attempt}/${sig}` : null;
}

/** The three addresses that are given for every request. */
export function requestUrls(requestId: string, links: Links) {
  const base = `${links.baseUrl}/requests/${requestId}`;
  return {
    status_url: `${base}/status`,
    response_url: `${base}/response`,
    cancel_url: `${base}/cancel`,
  };
}

/** The reply to a submit. A replay gets the same reply. */
export function submittedView(
  submitted: {
    request_id: string;
    model_id: string;
    quoted_usd_micro: bigint;
    queue_position: number;
    unknown_inputs?: UnknownInput[] | null;
  },
  links: Links,
) {
  const { request_id, model_id, quoted_usd_micro, queue_position, unknown_inputs } = submitted;
  return {
    status: 'IN_QUEUE' as const,
    request_id,
    ...requestUrls(request_id, links),
    model_id,
    quoted_usd_micro,
    queue_position,
    ...(unknown_inputs && { unknown_inputs }),
  };
}

export function statusView(row: StatusRow, queuePosition: number | null, links: Links) {
  const { id: request_id, model_id, status, created_at, started_at, completed_at } = row;
  const { cancel_requested_at } = row;
  const metrics = {
    ...(started_at && { queue_ms: started_at.getTime() - created_at.getTime() }),
    ...(started_at && completed_at && { run_ms: completed_at.getTime() - started_at.getTime() }),
  };
  const failure = failureOf(row);
  return {
    request_id,
    model_id,
    status,
    ...(status === 'IN_QUEUE' && queuePosition !== null && { queue_position: queuePosition }),
    ...(row.progress &&
      typeof row.progress.progress === 'number' && { progress: row.progress.progress }),
    ...(row.progress && row.progress.logs.length > 0 && { logs: row.progress.logs }),
    created_at,
    ...(started_at && { started_at }),
    ...(completed_at && { completed_at }),
    ...(cancel_requested_at && { cancel_requested_at }),
    ...requestUrls(request_id, links),
    ...(failure && { error: failure }),
    ...(started_at && { metrics }),
  };
}

export type StatusView = ReturnType<typeof statusView>;

export function card(row: CardFacts, outputs: Output[], links: Links) {
  const { unit, unit_price_usd_micro, quantity } = shownQuote(row.quote);
  const completed = row.status === 'COMPLETED';
  return {
    request_id: row.id,
    model_id: row.model_id,
    kind: row.kind,
    status: row.status,
    quoted_usd_micro: row.quoted_usd_micro,
    charged_usd_micro: row.charged_usd_micro,
    price: {
      unit,
      unit_price_usd_micro,
      quantity: completed ? (row.quantity ?? quantity) : quantity,
    },
    ...usageIn(row),
    output_urls: completed ? outputs.map((output) => outputUrl(row, output.index, links)) : [],
    error: failureOf(row),
    input: row.input,
    created_at: row.created_at,
    started_at: row.started_at,
    completed_at: row.completed_at,
    cancel_requested_at: row.cancel_requested_at,
    expires_at: completed && outputs.length > 0 ? expiry(row, links) : null,
    webhook:
      row.webhook_url === null
        ? null
        : {
            url: row.webhook_url,
            state: row.webhook_state ?? 'pending',
            last_status: row.webhook_status,
          },
    ...requestUrls(row.id, links),
    key_id: row.key_id,
    metadata: row.metadata ?? {},
    ...callNumbers(row),
  };
}

/**
 * The usage of a chat: the stored one while the output is kept, otherwise rebuilt from the token
 * counts.
 */
function usageIn({ kind, output, tokens, charged_usd_micro }: CardFacts): { usage?: Usage } {
  if (kind !== 'text') return {};
  if (output?.usage !== undefined) return { usage: output.usage };
  return tokens === null ? {} : { usage: usageOfTokens(tokens, charged_usd_micro ?? 0n) };
}

/** The numbers of the call that made the request; ours is null if it is older than such numbers. */
export function callNumbers(row: Pick<RequestFacts, 'id' | 'numbered' | 'caller_id'>) {
  const { id, numbered, caller_id } = row;
  return { call_id: numbered ? callNumber(id) : null, caller_id };
}

/** The body of a webhook: the request's view without its input. */
export function notificationBody(row: CardFacts, outputs: Output[], links: Links): string {
  const { input: _, ...shown } = card(row, outputs, links);
  return JSON.stringify(shown, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/**
 * The model's output of a COMPLETED request. Every media address in it is one of our signed links.
 */
export function responseView(
  row: CardFacts,
  outputs: Output[],
  links: Links,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const output of outputs) {
    const media = {
      url: outputUrl(row, output.index, links),
      content_type: output.content_type,
      ...(output.width !== null && { width: output.width, height: output.height }),
      ...(output.duration_seconds !== null && { duration: output.duration_seconds }),
      file_size: output.size,
      file_name: output.file_name,
    };
    // A plural field name makes a list, as callers know from other services.
    const list = itemsOf(fields[output.field]);
    fields[output.field] = output.field.endsWith('s') ? [...list, media] : media;
  }
  // Our fields replace the upstream's fields of the same name, which hold the upstream's addresses.
  return { ...row.output, ...usageIn(row), ...fields };
}

/** Why a request failed; null if it did not. */
export function failureOf(row: {
  error_code: FailureCode | null;
  error_message: string | null;
  error_details: FailureDetails | null;
}) {
  const { error_code: code, error_message, error_details: details } = row;
  return code && { code, message: error_message ?? failures[code], ...(details && { details }) };
}

/** The charge of a cancelled request, as a sentence. */
export function chargedText({
  charged_usd_micro: charged,
}: Pick<RequestFacts, 'charged_usd_micro'>): string {
  return charged ? `${formatUsd(charged)} USD was charged.` : 'Nothing was charged.';
}

/** When the outputs of a completed request stop being served, in whole seconds. */
export function expiry(row: { completed_at: Date | null }, links: Links): Date {
  const seconds = Math.floor((row.completed_at?.getTime() ?? 0) / 1000) + links.outputTtlSeconds;
  return new Date(seconds * 1000);
}

/**
 * Whether the outputs of a completed request are no longer served. `expires_at` of the row: null,
 * or in the past, once they were deleted.
 */
export function outputsGone(
  row: { completed_at: Date | null; expires_at: Date | null },
  nowMs: number,
  links: Links,
): boolean {
  const until = Math.min(row.expires_at?.getTime() ?? 0, expiry(row, links).getTime());
  return until <= nowMs;
}

export function outputUrl(
  row: Pick<RequestFacts, 'id' | 'completed_at'>,
  index: number,
  links: Links,
): string {
  const exp = Math.floor(expiry(row, links).getTime() / 1000);
  const query = sign(links.secret, { request_id: row.id, index, exp });
  return `${links.baseUrl}/requests/${row.id}/output/${index}?${query}`;
}

/** Seconds that a caller should wait before the next poll; null once the request has ended. */
export function pollAgainSeconds(status: Status): number | null {
  return isFinal(status) ? null : 2;
}
