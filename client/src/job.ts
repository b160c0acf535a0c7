import { FareboxError } from './error.ts';
import type { Call } from './transport.ts';
import type {
  Cancelled,
  Output,
  QueuedRequest,
  RequestCard,
  Status,
  UnknownInput,
} from './types.ts';

export interface StatusOptions extends Call {
  waitSeconds?: number | undefined;
  /**
   * `'final'`: the service answers at the end instead of at the next change. A service that does
   * not know this option answers at the next change.
   */
  until?: 'final' | undefined;
}

export interface CancelOptions extends Call {
  /** Also asks a running job to stop, if its model has `on_cancel`, which says what that costs. */
  running?: boolean | undefined;
}

/** A request that was submitted by this process or an earlier one. */
export interface Job {
  requestId: string;
  /** The reply of the submit; missing after `attach`. */
  submitted?: QueuedRequest;
  status(options?: StatusOptions): Promise<Status>;
  /** Yields each change until the end. */
  watch(options?: Call): AsyncGenerator<Status>;
  /** Waits for the final status and returns it, even if FAILED or CANCELLED. */
  wait(options?: Call): Promise<Status>;
  /** Waits, then returns the output and the card. Throws if the request FAILED or was CANCELLED. */
  result<T = Output>(options?: Call): Promise<Result<T>>;
  cancel(options?: CancelOptions): Promise<Cancelled>;
}

/** The card of a request with an output. */
export type CompletedCard = RequestCard & {
  status: 'COMPLETED';
  charged_usd_micro: bigint;
  completed_at: string;
};

export interface Result<T = Output> {
  requestId: string;
  output: T;
  card: CompletedCard;
  /** Fields that the model does not have, as reported at the submit; missing if all are known. */
  unknownInputs?: UnknownInput[];
}

export interface JobCalls {
  status(requestId: string, options?: StatusOptions): Promise<Status>;
  watch(requestId: string, options?: Call): AsyncGenerator<Status>;
  response<T>(requestId: string, options?: Call): Promise<T>;
  cancel(requestId: string, options?: CancelOptions): Promise<Cancelled>;
  requests: { get(requestId: string, options?: Call): Promise<RequestCard> };
}

export function createJob(calls: JobCalls, requestId: string, submitted?: QueuedRequest): Job {
  async function wait(options?: Call): Promise<Status> {
    let last: Status | undefined;
    for await (const status of calls.watch(requestId, options)) last = status;
    return last!;
  }
  return {
    requestId,
    ...(submitted && { submitted }),
    status: (options) => calls.status(requestId, options),
    watch: (options) => calls.watch(requestId, options),
    wait,
    cancel: (options) => calls.cancel(requestId, options),
    result: async <T>(options?: Call) =>
      resultOf<T>(calls, await wait(options), options, submitted),
  };
}

/** Retries of the calls for a paid output: enough to outlast a restart of the service. */
const patience = 10;

/** Returns the result of a final request. Throws unless it is COMPLETED. */
export async function resultOf<T>(
  calls: JobCalls,
  status: Status,
  { signal, maxRetries = patience }: Call = {},
  submitted?: QueuedRequest,
): Promise<Result<T>> {
  const { request_id: requestId } = status;
  if (status.status !== 'COMPLETED') throw unsuccessful(status);
  const [output, card] = await Promise.all([
    calls.response<T>(requestId, { signal, maxRetries }),
    calls.requests.get(requestId, { signal, maxRetries }),
  ]);
  const unknownInputs = submitted?.unknown_inputs;
  return {
    requestId,
    output,
    // Every completed request has a charge and a time of completion.
    card: card as CompletedCard,
    ...(unknownInputs && { unknownInputs }),
  };
}

/** How a request was cancelled, as sentences. */
export function cancelledText({ cancel_requested_at }: Status): string {
  const cost = cancel_requested_at ? 'Its card has the charge.' : 'Nothing was charged.';
  return `The request was cancelled. ${cost}`;
}

function unsuccessful(end: Status): FareboxError {
  const { request_id: requestId, status, error } = end;
  const details = { status, ...(error && { error }) };
  if (status === 'CANCELLED') {
    const text = cancelledText(end);
    return new FareboxError('request_cancelled', text, { requestId, details });
  }
  const why = error ? `${error.message} (${error.code})` : 'The reason is unknown.';
  const text = `The request failed: ${why} Nothing was charged.`;
  return new FareboxError('request_failed', text, { requestId, details, type: 'upstream_error' });
}
