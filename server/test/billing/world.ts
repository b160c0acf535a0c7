import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Model } from '../../src/core/catalog/catalog.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { fakeComfyui } from '../upstreams/fakes/comfyui.ts';
import { fakeFal } from '../upstreams/fakes/fal.ts';
import { fakeKie } from '../upstreams/fakes/kie.ts';
import type { AcceptedJob, Biller, FakeUpstream } from '../upstreams/fakes/kit.ts';
import { film, picture, sound } from '../upstreams/fakes/made.ts';
import { fakeOpenai } from '../upstreams/fakes/openai.ts';
import { fakeReplicate } from '../upstreams/fakes/replicate.ts';
import { fakeWavespeed } from '../upstreams/fakes/wavespeed.ts';
import { passDeadline } from '../worker/floor.ts';
import type { Abuse, Course, Input, Wares } from './abuses.ts';
import { billerOf } from './bill.ts';

/**
 * The whole real catalog against upstreams that bill: each abuse of each media row is submitted,
 * worked on and settled by the service itself; then its charge is compared with the journal.
 */

const catalogDir = join(import.meta.dirname, '../../../catalog');

/** Further addresses, beside the upstream's own, that its stand-in serves. */
const otherHosts: Record<string, string[]> = { kie: ['https://kieai.redpandaai.co'] };

/** Upstreams without a call that stops a job, or whose answer comes only when the job is done. */
const deaf = new Set(['kie', 'wavespeed', 'openai']);

/** Stand-ins by the name of an upstream, or of its adapter. */
const fakes: Record<string, (biller: Biller) => Promise<FakeUpstream>> = {
  fal: fakeFal,
  replicate: fakeReplicate,
  kie: fakeKie,
  wavespeed: fakeWavespeed,
  comfyui: fakeComfyui,
  openai: (biller) => fakeOpenai('openai', biller),
};

interface Definition {
  name: string;
  adapter: string;
  url?: string;
  url_from?: string;
  key_from?: string;
  concurrency?: number;
  secret_from?: string;
  options?: Record<string, unknown>;
}

/** The outcome of one abuse of one row. */
export interface Outcome {
  row: Model;
  abuse: Pick<Abuse, 'name' | 'refusable'> & { course?: Course };
  /** The request's final status; `refused` if it was not accepted. */
  status: string;
  /** Micro-USD. */
  charged: bigint;
  /** The vendor's bill by the journal; null: no job was made. */
  billed: bigint | null;
  booked: bigint | null;
  /** Whether the upstream was told to cancel; null: there is no job, or it cannot be cancelled. */
  cancelled: boolean | null;
  /** Why the request was refused or failed. */
  message: string;
}

export interface World {
  rows: Model[];
  /** Runs each abuse of each row to its end. */
  run(abuses: readonly Abuse[]): Promise<Outcome[]>;
  close(): Promise<void>;
}

interface Try {
  row: Model;
  abuse: Abuse;
  input: Input;
  request_id: string | null;
  message: string;
}

/** The service over all rows of the catalog folder that make media for an outside service. */
export async function openWorld(wanted: (row: Model) => boolean = () => true): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-billing-'));
  const stands = new Map<string, FakeUpstream>();
  const env: Record<string, string> = { FAREBOX_CATALOG: dir };
  const rows: Model[] = [];
  for (const file of readdirSync(catalogDir).filter((name) => name.endsWith('.yaml'))) {
    const { upstream, ...content } = parse(readFileSync(join(catalogDir, file), 'utf8'));
    content.models = content.models.filter((row: Model) => row.kind !== 'text' && wanted(row));
    if (typeof upstream !== 'object' || content.models.length === 0) continue;
    const biller = billerOf(upstream.name);
    const fake = await (fakes[upstream.name] ?? fakes[upstream.adapter] ?? none)(biller);
    stands.set(upstream.name, fake);
    const variable = `KEY_OF_${upstream.name.toUpperCase()}`;
    env[variable] = fake.key;
    const text = stringify({ upstream: pointed(upstream, fake, variable), ...content });
    writeFileSync(join(dir, file), text);
    const parsed = parseCatalogText(text, file);
    if (parsed.problems.length > 0) throw new Error(JSON.stringify(parsed.problems));
    rows.push(...parsed.rows);
  }
  const service = await startService({ env });
  const account = await service.account({ usd: 100_000, open_jobs: 100_000 });
  const wares = await uploaded(service, account);

  async function run(abuses: readonly Abuse[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const isHeld = ({ course }: Abuse) => course !== 'left alone';
    for (const some of [abuses.filter((each) => !isHeld(each)), abuses.filter(isHeld)]) {
      if (some.length > 0) outcomes.push(...(await runAll(some)));
    }
    return outcomes;
  }

  /** Counts the inputs, so that each prompt is unique: the journal finds its entries by prompts. */
  let made = 0;

  async function runAll(some: readonly Abuse[]): Promise<Outcome[]> {
    const held = some[0]!.course !== 'left alone';
    for (const fake of stands.values()) {
      fake.hold(held);
      if (held) fake.mend();
      else fake.play('poll-at-once-done');
    }
    const tries: Try[] = [];
    for (const row of rows) for (const abuse of some) tries.push(await submit(row, abuse));
    await service.work();
    if (held) await disturb(tries);
    for (const fake of stands.values()) {
      fake.hold(false);
      fake.play('poll-at-once-done');
    }
    await settle();
    return judged(tries);
  }

  async function submit(row: Model, abuse: Abuse): Promise<Try> {
    const biller = billerOf(row.upstreams[0]!.upstream);
    const input = abuse.input(row, wares.names, biller, wares.files);
    const tagged = row.upstreams[0]!.upstream === 'openai' ? named(input, made++) : input;
    const path = `/v1/queue/${row.id}`;
    const { status, body } = await service.call('POST', path, { key: account.key, body: tagged });
    const request_id = status === 202 ? body.request_id : null;
    return { row, abuse, input: tagged, request_id, message: body.error?.message ?? '' };
  }

  /** Cancels running requests, which is refused, or ends their time, so that they are given up. */
  async function disturb(tries: Try[]): Promise<void> {
    for (const { abuse, request_id } of tries) {
      if (request_id === null) continue;
      const path = `/v1/requests/${request_id}/cancel`;
      if (abuse.course === 'cancelled') await service.call('POST', path, { key: account.key });
      if (abuse.course === 'timed out') await passDeadline(service, request_id);
    }
    await service.work();
  }

  async function settle(): Promise<void> {
    const open = `select count(*) as n from requests where status in ('IN_QUEUE', 'IN_PROGRESS')`;
    for (let round = 0; round < 20; round++) {
      const [row] = await service.db.run<{ n: bigint }>(rawSql(open));
      if (row!.n === 0n) return;
      await service.wakeAll();
      await service.work();
    }
    throw new Error('some requests do not end');
  }

  async function judged(tries: Try[]): Promise<Outcome[]> {
    const ends = await service.db.run<{
      id: string;
      status: string;
      charged: bigint | null;
      booked: bigint | null;
      error: string | null;
      handles: string;
    }>(
      rawSql(
        `select r.id, r.status, r.charged_usd_micro as charged, s.cost_usd_micro as booked,
           s.error_message as error,
           (select coalesce(json_agg(a.handle), '[]')::text from attempts a
             where a.request_id = r.id) as handles
         from requests r left join request_results s on s.request_id = r.id`,
      ),
    );
    const byId = new Map(ends.map((end) => [end.id, end]));
    const jobs = [...stands.values()].flatMap(({ journal }) => journal);
    return tries.map(({ row, abuse, input, request_id, message }) => {
      const end = request_id === null ? undefined : byId.get(request_id);
      const own = end ? jobs.filter((job) => isOf(job, end.handles, input)) : [];
      const usd = own.reduce((sum, { bill }) => sum + bill!.usd, 0);
      return {
        row,
        abuse,
        status: end?.status ?? 'refused',
        charged: end?.charged ?? 0n,
        billed: own.length === 0 ? null : BigInt(Math.ceil(Number((usd * 1e6).toFixed(3)))),
        booked: end?.booked ?? null,
        cancelled: deaf.has(row.upstreams[0]!.upstream) ? null : (own[0]?.cancelled ?? null),
        message: end?.error ?? message,
      };
    });
  }

  return {
    rows,
    run,
    async close() {
      await service.audit();
      await service.stop();
      for (const fake of stands.values()) await fake.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function none(): never {
  throw new Error(
    'the catalog names an upstream that nothing stands in for: add it to fakes in world.ts',
  );
}

/** Whether the job belongs to the request: by the upstream's id of the job, else by the prompt. */
function isOf(job: AcceptedJob, handles: string, input: Input): boolean {
  if (job.id.startsWith('img_')) return job.input.prompt === input.prompt;
  return handles.includes(`"${job.id}"`);
}

/** An image in the answer to its start has no job id, so its prompt has to be unique. */
function named(input: Input, number: number): Input {
  const mark = String.fromCodePoint(0x13000 + number);
  const prompt = [...(input.prompt as string)];
  return { ...input, prompt: mark + prompt.slice(1).join('') };
}

/** The definition with the address of its stand-in. */
function pointed(definition: Definition, { url }: FakeUpstream, key_from: string): Definition {
  const { name, adapter, options } = definition;
  const rest = adapter === 'fal' ? { rest_url: url, api_url: `${url}/v1` } : {};
  const moved = (otherHosts[name] ?? []).reduce(
    (text, host) => text.replaceAll(host, url),
    JSON.stringify({ ...options, ...rest }),
  );
  const { url_from, secret_from, ...kept } = definition;
  void [url_from, secret_from];
  return { ...kept, url, key_from, concurrency: 500, options: JSON.parse(moved) };
}

/** Uploads images of odd shapes, and videos and audio of odd lengths, each once. */
async function uploaded(
  service: Service,
  { key }: TestAccount,
): Promise<{ names: Wares; files: Map<string, Buffer> }> {
  const kinds: [kind: keyof Wares, type: string, file: Buffer][] = [
    ...[
      picture(512, 512),
      picture(30_000, 1_000),
      picture(1_000, 30_000),
      picture(16_000, 16_000),
    ].map((file) => ['png', 'image/png', file] as [keyof Wares, string, Buffer]),
    ...[2, 4.2, 10, 59.9].map(
      (s) => ['mp4', 'video/mp4', film(s)] as [keyof Wares, string, Buffer],
    ),
    ...[2, 4.2, 29.9].map((s) => ['wav', 'audio/wav', sound(s)] as [keyof Wares, string, Buffer]),
  ];
  const names: Wares = { png: [], mp4: [], wav: [] };
  const files = new Map<string, Buffer>();
  for (const [kind, type, file] of kinds) {
    const headers = { 'content-type': type };
    const reply = await service.call('POST', '/v1/files', { key, raw: file, headers });
    if (reply.status !== 201) throw new Error(reply.text);
    names[kind].push(reply.body.file_id);
    files.set(reply.body.file_id, file);
  }
  return { names, files };
}
