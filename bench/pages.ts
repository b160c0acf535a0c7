import net from 'node:net';
import { openMax } from '../server/src/http/stream-grants.ts';
import { newId } from '../server/src/lib/id.ts';
import { hashPassword } from '../server/src/lib/password.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { headers, input, model, round, submitRequest } from './calls.ts';
import { httpRequest, load } from './load.ts';
import type { Question, Row } from './run.ts';
import type { Bench, Process } from './service.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

const pages = 1_000;
/** Pages of one person that are opened together. More would measure the listen queue. */
const stride = openMax;
const busyPerSecond = 300;

const question: Question = {
  asks: `what do ${pages} open pages of as many accounts cost in memory, and how soon do they show a change?`,
  async measure(bench, { seconds }) {
    const keys = await bench.keys(pages);
    const busy = await bench.key();
    const process = await bench.start({ role: 'service', env: { FAREBOX_TRUSTED_PROXIES: '1' } });
    const other = await bench.start({ role: 'service' });
    const accounts = await accountsOf(bench);
    const password = await hashPassword(passphrase);
    const cookies: string[] = [];
    for (let i = 0; i < pages; i += stride)
      cookies.push(await signedIn(bench, process.port, accounts.slice(i, i + stride), password));
    const open = (i: number, hear: (text: string) => void) =>
      openPage(process.port, accounts[i]!, cookies[Math.floor(i / stride)]!, hear);
    // The first page loads data that all pages share, so it is not measured.
    const first = await open(0, () => {});
    first.destroy();
    const rest = await settled(process.rssMb);
    const heard: HeardEvents = { at: new Map(), waiting: new Map() };
    const hear = (text: string) => {
      for (const [, id, status] of text.matchAll(told)) {
        heard.at.set(`${id} ${status}`, now());
        heard.waiting.get(`${id} ${status}`)?.();
      }
    };
    const sockets: net.Socket[] = [];
    for (let i = 0; i < pages; i += stride) {
      const some = Array.from({ length: stride }, (_, n) => open(i + n, hear));
      sockets.push(...(await Promise.all(some)));
    }
    const held = await settled(process.rssMb);
    const memory = { 'RSS MB before': rest, 'RSS MB with': held, 'MB more': held - rest };
    const delays = (what: string, at: Process) => measureDelays(what, at, keys, heard, seconds);
    const rows: Row[] = [
      { ...(await delays('changes at the same process', process)), ...memory },
      { ...(await delays('changes at another process', other)), ...memory },
    ];
    const noise = load({
      port: other.port,
      connections: 16,
      seconds: seconds + 2,
      warmupSeconds: 0,
      perSecond: busyPerSecond,
      request: () => submitRequest(busy),
    });
    const beside = `the same beside ${busyPerSecond} submits a second of others`;
    rows.push({ ...(await delays(beside, other)), ...memory });
    await noise;
    for (const socket of sockets) socket.destroy();
    await Promise.all([process.stop(), other.stop()]);
    return rows;
  },
};
export default question;

const told = /"request_id":"([^"]+)","model_id":"[^"]+","kind":"[^"]+","status":"([^"]+)"/g;
const now = () => performance.now();

/** When a page received each state of a request, and the callbacks that wait for one. */
interface HeardEvents {
  at: Map<string, number>;
  waiting: Map<string, () => void>;
}

/** Measures from the answer to a submit or cancel to the event on the account's page. */
async function measureDelays(
  what: string,
  { port }: Process,
  keys: string[],
  heard: HeardEvents,
  seconds: number,
): Promise<Row> {
  const delays: number[] = [];
  const all: Promise<void>[] = [];
  const shown = (id: string, status: string) => {
    const since = now();
    const what = `${id} ${status}`;
    const telling = new Promise<void>((resolve, reject) => {
      if (heard.at.has(what)) return resolve();
      const late = setTimeout(() => reject(new Error(`${status} is not shown`)), 10_000);
      heard.waiting.set(what, () => {
        clearTimeout(late);
        resolve();
      });
    });
    all.push(telling.then(() => void delays.push(Math.max(0, heard.at.get(what)! - since))));
  };
  const end = now() + seconds * 1000;
  for (let i = 0; now() < end; i++) {
    const key = keys[(i * 37) % keys.length]!;
    const base = `http://127.0.0.1:${port}/v1`;
    const call = { method: 'POST', headers: headers(key) };
    const submitted = await fetch(`${base}/queue/${model}`, { ...call, body: input });
    const id = String(fieldOf(await submitted.json(), 'request_id'));
    shown(id, 'IN_QUEUE');
    await all.at(-1);
    await fetch(`${base}/requests/${id}/cancel`, { method: 'POST', headers: headers(key) });
    shown(id, 'CANCELLED');
    // Spread over the time between two polls.
    await new Promise((resolve) => setTimeout(resolve, (i * 53) % 200));
  }
  await Promise.all(all);
  delays.sort((a, b) => a - b);
  const at = (share: number) =>
    round(delays[Math.min(delays.length - 1, Math.floor(delays.length * share))]!);
  return {
    what,
    changes: delays.length,
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
    'max ms': at(1),
  };
}

const passphrase = 'correct horse battery';
let people = 0;

/** Signs in a person who belongs to these accounts; returns their cookie. */
async function signedIn(
  { db }: Bench,
  port: number,
  accounts: string[],
  password: string,
): Promise<string> {
  const email = `pages${++people}@example.com`;
  const id = newId();
  await db.run(
    rawSql(
      `with p as (insert into people (id, name, email, email_verified) values ($1, 'P', $2, true))
       insert into logins (id, person_id, provider_id, provider_account_id, password)
       values ($3, $1, 'credential', $1::text, $4)`,
      [id, email, newId(), password],
    ),
  );
  await db.run(
    rawSql(
      `insert into members (account_id, person_id, role) select unnest($2::uuid[]), $1, 'read_only'`,
      [id, accounts],
    ),
  );
  const origin = `http://localhost:${port}`;
  const reply = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: 'POST',
    // Each sign-in comes from its own network, because many from one network are slowed down.
    headers: {
      'content-type': 'application/json',
      origin,
      'x-forwarded-for': `10.0.0.${people}`,
    },
    body: JSON.stringify({ email, password: passphrase }),
  });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ');
}

/** The accounts in the order of their keys. */
async function accountsOf({ db }: Bench): Promise<string[]> {
  const rows = await db.run<{ id: string }>(rawSql('select id from accounts order by id'));
  return rows.slice(0, pages).map(({ id }) => id);
}

function openPage(
  port: number,
  account: string,
  cookie: string,
  hear: (text: string) => void,
): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const path = `/api/accounts/${account}/events`;
    const socket = net.connect(port, '127.0.0.1', () =>
      socket.write(httpRequest('GET', path, { cookie })),
    );
    let text = '';
    socket.setEncoding('latin1');
    socket.once('error', reject);
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(text));
      if (text.includes('event: balance')) resolve(socket);
      // Reads each event once, when it is complete.
      const at = text.lastIndexOf('\n\n');
      if (at === -1) return;
      hear(text.slice(0, at));
      text = `HTTP/1.1 200${text.slice(at)}`;
    });
  });
}

/** The value once it has stopped falling. */
async function settled(read: () => number): Promise<number> {
  let last = read();
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const next = read();
    if (next >= last) return next;
    last = next;
  }
  return last;
}
