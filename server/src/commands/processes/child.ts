import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { App, SharedEntrance } from '../../app.ts';
import { fromJson } from '../../lib/json.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { readConfig } from '../../read-config.ts';
import { live, withoutSandbox } from '../live.ts';
import { tell } from '../tell.ts';
import type { FromProcess, ProcessSetup, ToProcess } from './messages.ts';

/** One of the processes of `serve --processes`. The first process starts it and is its entrance. */

const given = fromJson<ProcessSetup>(process.argv[2]!);
const answerMaxMs = 8_000;
const retired = Promise.withResolvers<void>();
const asked = new Map<number, (text: string) => void>();
let started: App | undefined;
let questions = 0;

process.on('message', (message: ToProcess) => {
  if (message.type === 'retire') retired.resolve();
  else if (message.type === 'all') asked.get(message.question)?.(message.text);
  else if (message.type === 'read') void report(message.question);
});
// A terminal tells all its processes that it closes; the first process decides.
process.on('SIGHUP', () => {});
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

try {
  const parts = { http: true, worker: given.worker, entrance: openEntrance(), figures };
  const own = { number: given.number, retired: retired.promise };
  await live(withoutSandbox(readConfig()), { ...parts, ...own }, (app) => {
    app.metrics.registry.setDefaultLabels({ process: String(given.number) });
    started = app;
    send({ type: 'serves' });
  });
} catch (error) {
  const terminal = { out: console.log, err: console.error };
  process.exitCode = tell(error, terminal, given.json);
} finally {
  process.channel?.unref();
}

/** Without the first process there is nobody to tell. */
function send(message: FromProcess): void {
  if (process.connected) process.send!(message, undefined, undefined, () => {});
}

/** The entrance whose connections come from the first process. */
function openEntrance(): SharedEntrance {
  const open = new Set<Socket>();
  const empty = Promise.withResolvers<void>();
  let closing = false;
  const take = (server: Server, connection: number, socket: Socket) => {
    // The first process has it, too, and gives it to another one.
    if (closing) return void socket.destroy();
    send({ type: 'took', connection });
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      send({ type: 'closed' });
      if (closing && open.size === 0) empty.resolve();
    });
    server.emit('connection', socket);
  };
  return {
    address: given.address,
    open(server) {
      // A server that does not listen would not limit how long headers and bodies may take.
      server.emit('listening');
      process.on('message', (message: ToProcess, socket?: Socket) => {
        if (message.type === 'take') take(server, message.connection, socket!);
      });
    },
    size: () => open.size,
    close() {
      closing = true;
      send({ type: 'full' });
      if (open.size === 0) empty.resolve();
      return empty.promise;
    },
  };
}

async function report(question: number): Promise<void> {
  const figures = (await started?.metrics.registry.getMetricsAsJSON()) ?? [];
  send({ type: 'figures', question, figures });
}

/** The metrics of all processes; of this one, if the first process does not answer. */
async function figures(): Promise<string> {
  const question = ++questions;
  const { promise, resolve } = Promise.withResolvers<string>();
  asked.set(question, resolve);
  send({ type: 'ask', question });
  const own = () => started!.metrics.registry.metrics();
  return withTimeout(promise, answerMaxMs)
    .catch(own)
    .finally(() => asked.delete(question));
}
