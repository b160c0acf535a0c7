import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A paid upstream that outlives the service, with a journal of the jobs it accepted. It behaves
 * like one of the three classes, and loses answers, hangs and fails at random, from a seed.
 */
export interface PaidUpstream {
  url: string;
  /** Submissions it accepted and would bill, by the request's key. */
  accepted: Map<string, number>;
  /** Starts with a known key in class A, which create no second job. */
  repeats: number;
  lostAnswers: number;
  faults: { lose: number; hang: number; fail: number; refuse: number };
  close(): Promise<void>;
}

/** The time from acceptance until a job is done. */
const runMs = 60;
const pollMaxMs = 300;

export async function startPaidUpstream(seed: number): Promise<PaidUpstream> {
  const random = mulberry(seed);
  const accepted = new Map<string, number>();
  const ready = new Map<string, number>();
  const hanging = new Set<ServerResponse>();
  const state: PaidUpstream = {
    url: '',
    accepted,
    repeats: 0,
    lostAnswers: 0,
    faults: { lose: 0, hang: 0, fail: 0, refuse: 0 },
    async close() {
      for (const reply of hanging) reply.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((req, reply) => void answer(req, reply));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;

  async function answer(req: IncomingMessage, reply: ServerResponse): Promise<void> {
    const url = new URL(req.url!, 'http://upstream');
    const [, verb, key = ''] = url.pathname.split('/');
    req.resume();
    if (verb === 'start') return start(key, url.searchParams.get('class')!, reply);
    if (verb === 'find') return send(reply, 200, { found: accepted.has(key) });
    const at = ready.get(key);
    // Slow enough that a paused worker has open calls when its lease ends.
    await new Promise((resolve) => setTimeout(resolve, random() * pollMaxMs));
    send(reply, at === undefined ? 404 : 200, { done: at !== undefined && Date.now() >= at });
  }

  function start(key: string, kind: string, reply: ServerResponse): void {
    const { refuse, fail, lose, hang } = state.faults;
    const dice = random();
    if (dice < refuse) return send(reply, 503, { error: 'busy' });
    // In half of the failures the job was accepted before, which a client cannot see.
    if (dice < refuse + fail && random() < 0.5) return send(reply, 500, { error: 'broken' });
    take(key, kind);
    if (dice < refuse + fail) return send(reply, 500, { error: 'broken' });
    if (dice < refuse + fail + lose) {
      state.lostAnswers++;
      return void reply.destroy();
    }
    if (dice < refuse + fail + lose + hang) {
      state.lostAnswers++;
      return void hanging.add(reply);
    }
    send(reply, 200, { id: key });
  }

  function take(key: string, kind: string): void {
    if (kind === 'A' && accepted.has(key)) {
      state.repeats++;
      return;
    }
    accepted.set(key, (accepted.get(key) ?? 0) + 1);
    ready.set(key, Date.now() + runMs);
  }
}

function send(reply: ServerResponse, status: number, body: object): void {
  reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A small seeded generator, so that a run can be repeated. */
export function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
