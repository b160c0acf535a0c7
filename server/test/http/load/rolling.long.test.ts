import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { schemaNumber } from '../../../src/db/schema.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { copyRepository } from '../../chaos/sabotage.ts';
import { startProcess, type ServiceProcess } from '../../kit/process.ts';
import type { Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';

/**
 * Two processes behind a load balancer are replaced one by one by the next version, and then by
 * this one again, and no caller notices. No version was published that can run beside this one, so
 * the next version is this code with one more migration.
 */

const rounds = Number(process.env.ROLLING_ROUNDS ?? 1);
const callers = 4;
const small = { prompt: 'x', image_size: { width: 64, height: 64 } };
/** Starts a process. Both have the same folder, for jobs of the sandbox and for media. */
const startNode = (repository?: string) =>
  startProcess(service, { FAREBOX_DRAIN_SECONDS: '1', FAREBOX_DATA_DIR: service.dir }, repository);

const next = copyRepository();
after(() => rmSync(next, { recursive: true, force: true }));
const migration = `${String(schemaNumber + 1).padStart(4, '0')}_next.sql`;
writeFileSync(
  join(next, 'server/migrations', migration),
  `create table next (request_id uuid primary key references requests (id));
  alter table requests add column next text not null default 'x';
  alter table transfers add column next text;
  alter table requests add constraint next_is_known check (next <> '') not valid;
  alter table requests validate constraint next_is_known;
  create index concurrently requests_next on requests (next);
  comment on table next is 'Of the next version.';`,
);

const nodes: ServiceProcess[] = [];
after(() => Promise.all(nodes.map((node) => node.kill())));
const { service, account } = withService({ account: { rpm: 1_000_000, open_jobs: 1_000_000 } });
before(async () => void nodes.push(...(await Promise.all([startNode(), startNode()]))));

/** Processes that were ready at the last check, as a load balancer knows it. */
const ready = new Set<string>();
async function watch(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const { base } of nodes) {
      const is = await fetch(`${base}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (is) ready.add(base);
      else ready.delete(base);
    }
    await pause(100);
  }
}

let turn = 0;
let passedOn = 0;
/** Sends a call to a ready process, and after a 503 to the next one, as a load balancer does. */
async function balanced(method: string, path: string, body?: unknown): Promise<Reply> {
  const bases = [...ready];
  const base = bases[turn++ % bases.length]!;
  const call = { key: account.key, body };
  const reply = await service.call(method, path, { ...call, base });
  if (reply.status !== 503) return reply;
  passedOn++;
  const other = bases.find((each) => each !== base) ?? base;
  return service.call(method, path, { ...call, base: other });
}

interface Sightings {
  submitted: Set<string>;
  strange: string[];
}

async function goOn(signal: AbortSignal, seen: Sightings): Promise<void> {
  while (!signal.aborted) {
    try {
      const submitted = await balanced('POST', '/v1/queue/real/image', small);
      if (submitted.status !== 202) seen.strange.push(`submit: ${submitted.status}`);
      const { request_id } = submitted.body;
      seen.submitted.add(request_id);
      for (const path of ['/status', '', '/status?wait=1']) {
        const { status } = await balanced('GET', `/v1/requests/${request_id}${path}`);
        if (status !== 200) seen.strange.push(`${path}: ${status}`);
      }
    } catch (error) {
      seen.strange.push(String((error as Error).cause ?? error));
    }
  }
}

test('two processes are replaced by the next version and back while callers go on: no error, no request lost', async (t) => {
  const watching = new AbortController();
  const watched = watch(watching.signal);
  await until('both are ready', () => ready.size === 2);
  const stop = new AbortController();
  const seen: Sightings = { submitted: new Set(), strange: [] };
  const going = Array.from({ length: callers }, () => goOn(stop.signal, seen));
  for (let round = 0; round < rounds * nodes.length * 2; round++) {
    const at = round % nodes.length;
    const old = nodes[at]!;
    old.signal('SIGTERM');
    assert.equal(await old.ended, 0, old.output());
    const isForward = round % (nodes.length * 2) < nodes.length;
    nodes[at] = await startNode(isForward ? next : undefined);
    ready.delete(old.base);
    await until('both are ready', () => ready.size === 2);
    const { size } = seen.submitted;
    await until('both versions were called', () => seen.submitted.size > size + callers);
  }
  const applied = await service.db.run(sql`select name, breaks_before, done from migrations
    where number > ${schemaNumber}`);
  assert.deepEqual(applied, [{ name: migration, breaks_before: 0, done: null }]);
  stop.abort();
  await Promise.all(going);
  watching.abort();
  await watched;
  t.diagnostic(`figure: ${seen.submitted.size} submits, ${passedOn} calls passed on`);
  assert.deepEqual(seen.strange, []);
  const ids = [...seen.submitted];
  assert.ok(ids.length > callers * 2, `only ${ids.length} submits`);
  await until(
    'all are completed',
    async () => {
      const replies = await Promise.all(
        ids.map((id) => balanced('GET', `/v1/requests/${id}/status`)),
      );
      return replies.every(({ body }) => body.status === 'COMPLETED');
    },
    60_000,
  );
});
