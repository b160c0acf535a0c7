import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';
import { end, nodeFlags, rssMb, type Bench, type Process } from './service.ts';

/** `farebox serve` of any checkout, with a chat model at this upstream and without a worker. */
export async function serve(folder: string, bench: Bench, upstream: string): Promise<Process> {
  const dir = join(bench.dir, 'shares');
  mkdirSync(join(dir, 'catalog'), { recursive: true });
  writeFileSync(join(dir, 'catalog', 'bench.yaml'), catalogAt(upstream));
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [...nodeFlags, join(folder, 'server/src/main.ts'), 'serve', '--no-worker'],
    {
      env: {
        PATH: process.env.PATH,
        PORT: String(port),
        HOST: '127.0.0.1',
        FAREBOX_BASE_URL: `http://127.0.0.1:${port}/v1`,
        DATABASE_URL: await urlOf(bench),
        FAREBOX_DATA_DIR: join(dir, 'files'),
        FAREBOX_CATALOG: join(dir, 'catalog'),
        FAREBOX_SECRET: 'a secret of at least thirty-two characters',
        FAREBOX_DRAIN_SECONDS: '0',
        FAREBOX_LOG_LEVEL: 'error',
        BENCH_KEY: 'sk-bench',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`serve ended with ${child.exitCode}`);
    await pause(100);
  }
  return { port, pid: child.pid!, rssMb: () => rssMb(child.pid!), stop: () => end(child) };
}

/** The URL of a bench's database, which its connection knows. */
async function urlOf({ db }: Bench): Promise<string> {
  const [row] = await db.run<{ u: string; d: string; host: string; port: string }>(
    rawSql(`select current_user::text as u, current_database()::text as d,
      current_setting('unix_socket_directories') as host, current_setting('port') as port`),
  );
  return `postgres://${row!.u}@${encodeURIComponent(row!.host.replaceAll('"', ''))}:${row!.port}/${row!.d}`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const port = Number(fieldOf(server.address(), 'port'));
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const catalogAt = (url: string) => `
upstream: { name: bench, adapter: openai, url: "${url}", key_from: BENCH_KEY, concurrency: 100 }
owned_by: bench
models:
  - id: bench/flux/dev/text-to-image
    kind: image
    task: text-to-image
    name: An image
    description: Never made, because nothing works here.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    cost_usd: "0.004"
    upstream_model: image
    input_schema:
      type: object
      properties: { prompt: { type: string, maxLength: 10000 }, num_images: { type: integer }, seed: { type: integer } }
      required: [prompt]
    example: { prompt: a cat }
  - id: bench/chat
    kind: text
    task: chat
    name: A chat
    description: Answered by a local upstream.
    price: { unit: 1M tokens, input_usd: "0.10", output_usd: "0.40" }
    max: 4096
    max_unit: tokens
    cost_input_usd: "0.05"
    cost_output_usd: "0.2"
    upstream_model: chat
    context_tokens: 128000
    max_output_tokens: 8192
    on_disconnect: stop
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;
