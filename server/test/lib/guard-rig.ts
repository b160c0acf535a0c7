/**
 * Runs in an empty network namespace whose kernel answers for every address. Prints as JSON which
 * addresses were reached. All addresses are routed to this machine, but none is an address of an
 * interface: otherwise the rule against our own addresses would hide whether the other rules work.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { createConnector } from '../../src/lib/outbound/connect.ts';
import { FetchError, createFetch, type Fetch } from '../../src/lib/outbound/fetch.ts';
import cases from '../fixtures/ssrf-cases.json' with { type: 'json' };

const forbidden = [
  '127.0.0.1',
  '169.254.169.254',
  '10.0.0.5',
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::254',
];
const allowed = ['93.184.216.34', '2606:4700::1111'];
const onInterface = '93.184.216.40';
const limits = { timeoutMs: 5000, maxBytes: 1024 };

const ip = (...words: string[]): unknown => execFileSync('ip', words);
ip('link', 'set', 'lo', 'up');
ip('addr', 'add', `${onInterface}/32`, 'dev', 'lo');
ip('route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo');
ip('-6', 'route', 'add', 'local', '::/0', 'dev', 'lo');

let hits: string[] = [];
let kept = 0;
const server = createServer((req, res) => {
  hits.push((req.socket.localAddress ?? '').replace('::ffff:', ''));
  if (req.headers.connection !== 'close') kept++;
  res.end('hit');
});
server.listen(80, '::');
await once(server, 'listening');

async function kindOf(fetch: Fetch, url: string): Promise<string> {
  try {
    await fetch.request({ url, ...limits });
    return 'delivered';
  } catch (error) {
    return error instanceof FetchError ? error.kind : String(error);
  }
}

function taken(): string[] {
  const before = hits;
  hits = [];
  return before;
}

const literal = (address: string): string =>
  `http://${address.includes(':') ? `[${address}]` : address}/`;

const unguarded = createFetch({ guard: false });
for (const address of forbidden) await kindOf(unguarded, literal(address));
const unguardedHits = taken();

const guarded = createFetch({
  guard: true,
  lookup: async (name) => [name.replace('.to.rebind.com', '')],
});
const verdicts = new Set<string>();
for (const address of forbidden) {
  verdicts.add(await kindOf(guarded, literal(address)));
  if (!address.includes(':'))
    verdicts.add(await kindOf(guarded, `http://${address}.to.rebind.com/`));
}
for (const { url } of cases.refuse) verdicts.add(await kindOf(guarded, url));
const guardedHits = taken();

kept = 0;
for (const address of allowed) await kindOf(guarded, literal(address));
const publicHits = taken();
const ownInterface = await kindOf(guarded, literal(onInterface));

// The address of the connected peer is judged last. It can only differ from the judged one by a
// fault, so one is played: our addresses change between the two.
let asked = 0;
const changing = {
  *[Symbol.iterator]() {
    if (asked++ > 0) yield allowed[0];
  },
};
const connector = createConnector({
  guard: true,
  isExempt: () => false,
  connectTimeoutMs: 1000,
  own: changing as unknown as ReadonlySet<string>,
});
const wrongPeer = await new Promise<string>((resolve) => {
  connector({ hostname: allowed[0] ?? '', protocol: 'http:', port: '80' }, (...[error]) => {
    resolve(error?.message ?? 'connected');
  });
});

let turn = 0;
const flipping = createFetch({
  guard: true,
  lookup: async () => [turn++ % 2 === 0 ? (allowed[0] ?? '') : (forbidden[1] ?? '')],
});
const flips: string[] = [];
for (let i = 0; i < 1000; i++) flips.push(await kindOf(flipping, 'http://flip.rebind.com/'));
const flipHits = taken();

console.log(
  JSON.stringify({
    unguarded_hits: unguardedHits,
    guarded_hits: guardedHits,
    guarded_blocked: verdicts.size === 1 && verdicts.has('blocked') ? 'all' : [...verdicts],
    public_hits: publicHits,
    kept_connections: kept,
    flips_delivered: flips.filter((kind) => kind === 'delivered').length,
    flips_blocked: flips.filter((kind) => kind === 'blocked').length,
    flips_forbidden_hits: flipHits.filter((address) => address !== allowed[0]).length,
    own_interface: ownInterface,
    wrong_peer: wrongPeer,
  }),
);
await Promise.all([unguarded.close(), guarded.close(), flipping.close()]);
server.closeAllConnections();
server.close();
