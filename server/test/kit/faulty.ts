import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A proxy between a client and a service that breaks calls as a test asks. */
export interface FaultyProxy {
  base: string;
  /** The address that calls are forwarded to; a restarted service has another one. */
  target: string;
  /** Every call that arrived, broken or not. */
  calls: Call[];
  /** The fault of a call; undefined: it passes. */
  spoil: (call: Call) => Fault | undefined;
  /** Sets the faults of the next calls to a path, one each; later calls pass. */
  meet(path: RegExp | string, ...faults: (Fault | undefined)[]): void;
  /** Breaks all its connections, on both sides. */
  cut(): void;
  stop(): Promise<void>;
}

export interface Call {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
}

export type Fault =
  /** The service never gets the call. */
  | 'unsent'
  /** The service answers, but only this many bytes of the answer arrive, head included. */
  | { cutAt: number }
  /** An answer that is not the service's, such as a proxy's. */
  | { status: number; headers?: Record<string, string>; body?: string }
  /** The call is never answered. */
  | 'silence';

/** A refusal in the service's own form. */
export function refused(status: number, code: string, headers: Record<string, string> = {}): Fault {
  const error = { code, message: 'Not now.', type: 'server_error', param: null, request_id: 'r' };
  return { status, headers, body: JSON.stringify({ error }) };
}

export async function startFaulty(target: string): Promise<FaultyProxy> {
  const faulty: FaultyProxy = {
    base: '',
    target,
    calls: [],
    spoil: () => undefined,
    meet(path, ...faults) {
      faulty.spoil = (call) => (call.path.search(path) === -1 ? undefined : faults.shift());
    },
    cut,
    stop,
  };
  const server = createServer((req, reply) => {
    const { method, url, headers } = req;
    const call = { method: method!, path: url!, headers };
    faulty.calls.push(call);
    const fault = faulty.spoil(call);
    if (fault === 'silence') return void req.resume();
    if (fault === 'unsent') return void req.socket.destroy();
    if (fault && 'status' in fault) {
      req.resume();
      return void reply.writeHead(fault.status, fault.headers).end(fault.body ?? '');
    }
    forward(req, reply, faulty.target, fault?.cutAt);
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  faulty.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  function cut() {
    for (const socket of sockets) socket.destroy();
  }
  async function stop() {
    cut();
    await new Promise((resolve) => server.close(resolve));
  }
  return faulty;
}

function forward(
  req: IncomingMessage,
  reply: ServerResponse,
  target: string,
  cutAt: number | undefined,
): void {
  const { method, url, headers } = req;
  const onward = request(target + url, { method, headers, agent: false }, (answer) => {
    if (cutAt !== undefined) return cut(answer, req.socket, cutAt);
    reply.writeHead(answer.statusCode!, answer.rawHeaders);
    reply.flushHeaders();
    answer.pipe(reply);
    answer.on('error', () => reply.destroy());
  });
  onward.on('error', () => req.socket.destroy());
  reply.on('close', () => onward.destroy());
  req.pipe(onward);
}

/** Sends the first bytes of the service's answer as on the wire, then nothing more. */
function cut(answer: IncomingMessage, socket: Socket, bytes: number): void {
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
  for (let i = 0; i < answer.rawHeaders.length; i += 2)
    lines.push(`${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}`);
  const parts = [Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)];
  answer.on('data', (chunk: Buffer<ArrayBuffer>) => parts.push(chunk));
  const over = () => socket.end(Buffer.concat(parts).subarray(0, bytes), () => socket.destroy());
  answer.on('end', over);
  answer.on('error', over);
}
