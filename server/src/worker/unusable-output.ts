import { failures, type FailureCode, type FailureDetails } from '../core/errors.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { FetchError } from '../lib/outbound/fetch.ts';
import { FileDamaged } from '../storage/picture.ts';
import { TooLarge } from '../storage/storage.ts';
import { OutputNotFetched } from './fetch-output.ts';

/** The upstream's output can never be kept, so the request fails and nothing is charged. */
export class UnusableOutput extends Error {
  readonly code: FailureCode;
  readonly details: FailureDetails | undefined;
  /** Whether the file may still come: stores answer with a text until it is there. */
  readonly mayCome: boolean;
  constructor(
    code: FailureCode,
    message: string,
    reason?: FailureDetails['reason'],
    mayCome = false,
  ) {
    super(message);
    this.code = code;
    this.details = reason && { reason };
    this.mayCome = mayCome;
  }
}

/** Null while another try may fetch the output. Bytes of a start's answer come only once. */
export function asUnfetched(row: ClaimedRequest, error: unknown): UnusableOutput | null {
  if (!(error instanceof OutputNotFetched)) return null;
  const isOver = row.handle === null || error.isLast(row.unfetched_seconds);
  return isOver ? lastOf(error) : null;
}

/** Why an output is given up that could not be fetched, or not be read at its address. */
export function lastOf({ cause }: OutputNotFetched): UnusableOutput {
  if (cause instanceof UnusableOutput) return cause;
  return new UnusableOutput('output_unusable', unfetchedMessage, 'not_fetched');
}

export function asUnusable(error: unknown): UnusableOutput | null {
  if (error instanceof UnusableOutput) return error;
  const isTooLarge =
    error instanceof TooLarge || (error instanceof FetchError && error.kind === 'too_large');
  if (isTooLarge) return tooLarge();
  if (error instanceof FileDamaged) {
    const message = 'The model returned a damaged file.';
    return new UnusableOutput('output_unusable', message, 'damaged', true);
  }
  if (error instanceof FetchError && error.kind === 'blocked') {
    return new UnusableOutput(
      'output_unusable',
      'The model returned an address that must not be fetched.',
      'not_fetched',
    );
  }
  return null;
}

export function tooLarge(): UnusableOutput {
  return new UnusableOutput('output_too_large', failures.output_too_large);
}

/** The message of a request whose outputs could not be fetched. */
export const unfetchedMessage = 'The model finished, but its output could not be fetched.';
