import fastify from 'fastify';
import { startApp } from '../server/src/app.ts';
import { openServiceDatabase } from '../server/src/database.ts';
import { readConfig } from '../server/src/read-config.ts';
import { createLog } from '../server/src/lib/log.ts';
import { startBareProxy } from './bare-proxy.ts';
import { createInstant, createWaiting } from './instant.ts';
import type { ProcessOptions } from './service.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';
import { fromJson } from '../server/src/lib/json.ts';

/**
 * One measured process: the service with an instant upstream, a bare server of the same framework,
 * or a bare proxy.
 */
const options = fromJson<ProcessOptions>(process.argv[2]!);
const { DATABASE_URL = '', BENCH_UPSTREAM = '' } = process.env;
const roles = {
  empty,
  service,
  'bare-proxy': () => startBareProxy(DATABASE_URL, BENCH_UPSTREAM),
};
process.send!({ port: await roles[options.role]() });

async function empty(): Promise<number> {
  const app = fastify();
  app.addHook('onRequest', (_req, reply, done) => {
    for (const [name, value] of Object.entries(replyHeaders)) reply.header(name, value);
    done();
  });
  app.post('/queue/*', async (_req, reply) =>
    reply.code(202).header('location', urls.status_url).send(submitReply),
  );
  app.get('/status/:id', async () => statusReply);
  await app.listen({ port: 0, host: '127.0.0.1' });
  process.once('SIGTERM', () => process.exit(0));
  return Number(fieldOf(app.server.address(), 'port'));
}

async function service(): Promise<number> {
  const config = readConfig({
    PORT: '0',
    FAREBOX_SECRET: 'a secret of at least thirty-two characters',
    FAREBOX_DRAIN_SECONDS: '0',
    FAREBOX_LOG_LEVEL: 'warn',
    ...process.env,
  });
  const log = createLog(config.FAREBOX_LOG_LEVEL);
  const database = await openServiceDatabase(config, 'bench service', log);
  const instant = createInstant(process.env.BENCH_UPSTREAM ?? null);
  const { http = true, worker = false, batchMax } = options;
  const batches =
    batchMax === undefined
      ? {}
      : { batches: { max: batchMax, concurrency: config.FAREBOX_DATABASE_POOL } };
  const app = await startApp({
    config,
    database: database,
    log,
    http,
    worker,
    upstreams: new Map([instant, ...createWaiting()].map((each) => [each.name, each])),
    ...batches,
  });
  process.once('SIGTERM', () => void app.stop(2_000).then(() => process.exit(0)));
  return app.address?.port ?? 0;
}

const id = '01a1fd49-026b-7805-b8b2-07083f45c364';
const base = `http://localhost:38255/v1/requests/${id}`;
const urls = {
  status_url: `${base}/status`,
  response_url: `${base}/response`,
  cancel_url: `${base}/cancel`,
};
/** Headers like those of the service's replies to calls with a key. */
const replyHeaders = {
  'x-request-id': 'req_ZmFyZWJveGZhcmVi',
  'ratelimit-policy': '"calls";q=1000000000;w=60',
  ratelimit: '"calls";r=999999999;t=60',
  'ratelimit-limit': '1000000000',
  'ratelimit-remaining': '999999999',
  'ratelimit-reset': '60',
};
/** A reply of the size and shape of the service's reply to a submit. */
const submitReply = {
  status: 'IN_QUEUE',
  request_id: id,
  ...urls,
  model_id: 'bench/flux/dev/text-to-image',
  quoted_usd_micro: '10000',
  queue_position: 0,
};
const statusReply = {
  request_id: id,
  model_id: 'bench/flux/dev/text-to-image',
  status: 'COMPLETED',
  created_at: '2026-11-21T08:46:22.829Z',
  started_at: '2026-11-21T08:46:22.959Z',
  completed_at: '2026-11-21T08:46:22.984Z',
  ...urls,
  metrics: { queue_ms: 130, run_ms: 25 },
};
