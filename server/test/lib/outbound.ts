/**
 * Shared parts of the tests of the outbound client. Servers that are opened here are closed after
 * the last file of the process.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';

import {
  FetchError,
  createFetch,
  type Fetch,
  type FetchErrorKind,
  type FetchOptions,
  type StreamReply,
} from '../../src/lib/outbound/fetch.ts';
import { atEnd } from '../kit/at-end.ts';
import { serveHttp, serveTcp, type LocalServer, type TcpServer } from './local-server.ts';

export const limits = { timeoutMs: 5000, maxBytes: 1024 * 1024 };
export const streamLimits = { idleTimeoutMs: 5000, maxBytes: 1024 * 1024 };

export function client(options: Partial<FetchOptions> = {}): Fetch {
  const made = createFetch({ guard: false, ...options });
  atEnd(() => made.close());
  return made;
}

export async function http(listener: RequestListener): Promise<LocalServer> {
  const server = await serveHttp(listener);
  atEnd(() => server.close());
  return server;
}

export async function tcp(listener: (socket: Socket) => void): Promise<TcpServer> {
  const server = await serveTcp(listener);
  atEnd(() => server.close());
  return server;
}

export async function closedPort(): Promise<number> {
  const server = await serveTcp(() => {});
  await server.close();
  return server.port;
}

export async function assertFault(
  promise: Promise<unknown>,
  kind: FetchErrorKind,
  sent: boolean,
  status: number | null = null,
): Promise<FetchError> {
  const error = await promise.then(
    () => assert.fail('the call went through'),
    (error: unknown) => error,
  );
  assert.ok(error instanceof FetchError, String(error));
  assert.deepEqual([error.kind, error.sent, error.status], [kind, sent, status], error.message);
  return error;
}

export async function readAll(reply: StreamReply): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
export const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}\r\n`;

export function assertBlocked(promise: Promise<unknown>): Promise<FetchError> {
  return assertFault(promise, 'blocked', false);
}

export interface ForbiddenServer {
  port: number;
  url: string;
  /** Number of connections so far, without the one of this call. */
  heard(): Promise<number>;
}

/**
 * A listener to which nothing may connect. `heard` connects to the same port, so earlier
 * connections have arrived when it is answered.
 */
export async function forbiddenListener(): Promise<ForbiddenServer> {
  let questions = 0;
  const server = await tcp((socket) => socket.end(`${head('content-length: 6\r\n')}secret`));
  const heard = async (): Promise<number> => {
    questions++;
    const socket = connect(server.port, '127.0.0.1').resume();
    await once(socket, 'close');
    return server.connections - questions;
  };
  return { port: server.port, url: server.url, heard };
}
