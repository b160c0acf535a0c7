import net from 'node:net';
import { headers, submitRequest } from './calls.ts';
import { httpRequest, load } from './load.ts';
import type { Question, Row } from './run.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

const streams = 10_000;
/** Streams opened at a time. More would measure the listen queue. */
const stride = 200;

const question: Question = {
  asks: `what do ${streams} idle status streams cost in memory?`,
  async measure(bench) {
    const key = await bench.key();
    const process = await bench.start({ role: 'service', env: { FAREBOX_IN_FLIGHT_MAX: '20000' } });
    const ids: string[] = [];
    const one = submitRequest(key);
    await load({
      port: process.port,
      connections: 16,
      seconds: 1,
      warmupSeconds: 0,
      request: () => one,
      onBody: (body) => ids.push(String(fieldOf(JSON.parse(body), 'request_id'))),
    });
    const rest = await settled(process.rssMb);
    const sockets: net.Socket[] = [];
    for (let i = 0; i < streams; i += stride) {
      await Promise.all(
        Array.from({ length: stride }, (_, n) =>
          open(process.port, ids[(i + n) % ids.length]!, key, sockets),
        ),
      );
    }
    const held = await settled(process.rssMb);
    const row: Row = {
      what: `${sockets.length} idle status streams`,
      'RSS MB before': rest,
      'RSS MB with': held,
      'MB more': held - rest,
      'KB a stream': Math.round(((held - rest) * 1024) / sockets.length),
    };
    for (const socket of sockets) socket.destroy();
    await process.stop();
    return [row];
  },
};
export default question;

function open(port: number, id: string, key: string, sockets: net.Socket[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () =>
      socket.write(httpRequest('GET', `/v1/requests/${id}/status/stream`, headers(key))),
    );
    socket.once('error', reject);
    socket.once('data', (chunk) => {
      if (!chunk.toString('latin1').startsWith('HTTP/1.1 200'))
        return reject(new Error(chunk.toString()));
      sockets.push(socket);
      socket.resume();
      resolve();
    });
  });
}

/** The value once it has stopped falling. */
async function settled(read: () => number): Promise<number> {
  let last = read();
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const now = read();
    if (now >= last) return now;
    last = now;
  }
  return last;
}
