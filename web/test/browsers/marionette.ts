/** Firefox's own protocol: WebDriver's commands over a socket, without a driver program. */
import { connect } from 'node:net';

/** Sends one command, such as `WebDriver:Navigate`, and returns its result; throws its error. */
export type Send = (command: string, parameters: object) => Promise<unknown>;

/** A reply: 1, the command's number, its error, its result. */
type Reply = [1, number, { error: string; message: string } | null, unknown];

/** Connects to the Firefox that listens at this port of this machine. */
export function openMarionette(port: number): { send: Send; close: () => void } {
  const socket = connect(port, '127.0.0.1');
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  readFrames(socket, (frame) => {
    // The first frame is a greeting.
    if (!Array.isArray(frame)) return;
    const [, id, error, result] = frame as Reply;
    const reply = waiting.get(id);
    waiting.delete(id);
    if (error) reply?.reject(new Error(`${error.error}: ${error.message}`));
    else reply?.resolve(result);
  });
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Firefox has ended'));
  });
  return {
    send(command, parameters) {
      const id = ++last;
      const reply = Promise.withResolvers<unknown>();
      waiting.set(id, reply);
      const text = JSON.stringify([0, id, command, parameters]);
      socket.write(`${Buffer.byteLength(text)}:${text}`);
      return reply.promise;
    },
    close: () => void socket.destroy(),
  };
}

/** A frame is its length in bytes, a colon, and JSON. */
function readFrames(socket: ReturnType<typeof connect>, take: (frame: unknown) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (part) => {
    rest = Buffer.concat([rest, part]);
    for (;;) {
      const colon = rest.indexOf(':');
      const end = colon + 1 + Number(rest.toString('utf8', 0, colon));
      if (colon < 0 || rest.length < end) return;
      take(JSON.parse(rest.toString('utf8', colon + 1, end)));
      rest = rest.subarray(end);
    }
  });
}
