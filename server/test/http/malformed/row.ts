import { latin1, send, sendBytes, type RoughCall } from '../../kit/rough.ts';
import type { ErrorCode } from '../../../src/core/errors.ts';
import type { Reply, Service, TestAccount } from '../../kit/service.ts';

/** Part of every prompt; must not be in the log. */
export const marker = 'PROMPT-MARKER-5f2c';

export interface World {
  service: Service;
  account: TestAccount;
  /** A completed request of the account. */
  done: string;
}

export type Call = (world: World) => Promise<Reply | undefined>;

/**
 * A call and its answer, which must have one of these codes or statuses. If a row has none, the
 * connection may also end without an answer. `more` asserts the rest of the answer.
 */
export type Row = [
  name: string,
  call: Call,
  answers: (ErrorCode | number)[],
  more?: (reply: Reply, world: World) => unknown,
];

/** A value, or a function that makes it for the world of the test. */
type Makeable<T> = T | ((world: World) => T);

function made<T extends object | string>(given: Makeable<T>, world: World): T {
  return typeof given === 'function' ? given(world) : given;
}

/** Posts bytes as JSON through an ordinary client. */
export function post(path: string, raw: string | Buffer): Call {
  return ({ service, account: { key } }) => {
    const headers = { 'content-type': 'application/json' };
    return service.call('POST', path, { key, raw, headers, signal: AbortSignal.timeout(60_000) });
  };
}

/** Sends one request built line by line. */
export function sent(line: Makeable<string>, options: Makeable<RoughCall> = {}): Call {
  return (world) => send(world.service, world.account, made(line, world), made(options, world));
}

/** Sends bytes that may be no request at all. */
export function bytes(text: Makeable<string>): Call {
  return (world) => sendBytes(world.service, latin1(made(text, world)));
}

/** Cancels what a good submit reserved. */
export async function cancel(reply: Reply, { service, account: { key } }: World): Promise<void> {
  const path = `/v1/requests/${reply.body.request_id}/cancel`;
  const { status, text } = await service.call('POST', path, { key });
  if (status !== 200) throw new Error(text);
}
