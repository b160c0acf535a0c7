import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readConfig } from '../../src/read-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { openServices, type Services } from '../../src/services.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';
import { start } from './sandbox-kit.ts';

/** A service whose operator allows a private host for upstreams. */

let dir: string;
let database: TestDatabase;
let inside: LocalServer;
let services: Services;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'farebox-inputs-'));
  database = await testDatabase();
  inside = await serveHttp((_req, res) => res.end('an inner secret'));
  const config = readConfig({
    FAREBOX_DATA_DIR: dir,
    FAREBOX_SECRET: 'a secret of at least thirty-two characters',
    FAREBOX_ALLOW_PRIVATE_HOSTS: `gpu.corp:${inside.port}`,
  });
  const log = createLog('silent', { write: () => true });
  // Like a name server that knows an address of one family and fails for the other.
  const lookup = async () => ['127.0.0.1'];
  services = await openServices({
    config,
    db: database.db,
    log,
    lookup,
    http: false,
    probeMs: 5_000,
    beatMs: 10_000,
    standbyLagMs: 30_000,
    tracesMs: 2_000,
    shareWaitMs: 10_000,
  });
});
after(async () => {
  await services.close();
  await inside.close();
  await database.close();
  await rm(dir, { recursive: true, force: true });
});

test("a caller's address does not reach a host that only upstreams may use", async () => {
  const image_url = `http://gpu.corp:${inside.port}/x`;
  const outcome = await start(services.upstreams.get('sandbox')!, 'upscale', { image_url });
  assert.equal(outcome.outcome, 'rejected', JSON.stringify(outcome));
  assert.match((outcome as { message: string }).message, /image_url could not be fetched/);
  assert.equal(inside.connections, 0);
});

test("an upstream's outputs may be there", async () => {
  const url = `http://gpu.corp:${inside.port}/x`;
  const call = { url, maxBytes: 1000, timeoutMs: 5_000 };
  const reply = await services.fetches.guarded.request(call);
  assert.equal(reply.status, 200);
});
