import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { rawSql, type Database } from '../../src/lib/sql/sql.ts';
import { testDatabase, type TestDatabase } from '../kit/database.ts';
import type { Rig } from '../upstreams/conformance.ts';
import type { FakeUpstream } from '../upstreams/fakes/kit.ts';
import { Door, tagOf } from './door.ts';
import { fund, kill, pause, startNode, type Node } from './harness.ts';
import { keyed, named } from './keyed.ts';
import { mulberry } from './upstream.ts';

/**
 * The world that all points need: every adapter's fake in this process, and the service in
 * processes that are killed. The database and the fakes outlive them.
 */

/** A rig, its fake, and the door in front of it. */
export interface Place {
  rig: Rig;
  fake: FakeUpstream;
  door: Door;
}

/** A request and its expected charge. */
export interface TrackedRequest {
  place: Place;
  charge: bigint;
  tag: string;
  id: string;
  /** The point at which the process was killed. */
  point: string;
  /** Whether the upstreams could call back. */
  callbacks: boolean;
}

const secret = 'a secret of at least thirty-two characters';
const patienceMs = 20_000;
/** A submit may have to wait for several starts of processes, which take long on a busy machine. */
const submitPatienceMs = 60_000;
/** Connections of the service's processes, named by node.ts. */
const ours = `datname = current_database() and application_name like 'chaos %'`;

export class World {
  readonly places: Place[];
  readonly db: Database;
  readonly random: () => number;
  readonly dir: string;
  nodes: Node[] = [];
  /** Callbacks that reached no process. */
  missed = 0;
  readonly #database: TestDatabase;
  readonly #key: string;
  readonly #delivered = new Set<string>();
  readonly #refused: string[] = [];
  #tags = 0;

  private constructor(parts: {
    places: Place[];
    database: TestDatabase;
    key: string;
    dir: string;
    random: () => number;
  }) {
    this.places = parts.places;
    this.#database = parts.database;
    this.db = parts.database.db;
    this.#key = parts.key;
    this.dir = parts.dir;
    this.random = parts.random;
  }

  static async open(seed: number): Promise<World> {
    const random = mulberry(seed);
    const places: Place[] = [];
    const dir = mkdtempSync(join(tmpdir(), 'farebox-chaos-'));
    mkdirSync(join(dir, 'catalog'));
    for (const [i, rig] of (await allRigs()).entries()) {
      const fake = await rig.open();
      places.push({ rig, fake, door: new Door(fake, random) });
      const text = stoppable(rig).replaceAll('URL', fake.url).replaceAll('FAKE_', `CHAOS_${i}_`);
      writeFileSync(join(dir, 'catalog', `${rig.name}.yaml`), text);
    }
    const database = await testDatabase();
    const key = await fund(database.db);
    return new World({ places, database, key, dir, random });
  }

  async close(): Promise<void> {
    await this.kill();
    for (const { door, fake } of this.places) {
      door.close();
      await fake.close();
    }
    await this.#database.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  // ── Processes ─────────────────────────────────────────────────────────────────────────────────

  async start(role: Node['role'], callbacks: boolean, leaseSeconds = 10): Promise<Node> {
    const node = await startNode(role, null, this.#environment(callbacks, leaseSeconds));
    this.nodes.push(node);
    return node;
  }

  /** Kills the processes with SIGKILL. */
  async kill(nodes: Node[] = this.nodes): Promise<void> {
    this.nodes = this.nodes.filter((node) => !nodes.includes(node));
    await Promise.all(nodes.map(({ child }) => kill(child, 'SIGKILL')));
  }

  #environment(callbacks: boolean, leaseSeconds: number): NodeJS.ProcessEnv {
    const hosts = this.places.map(({ fake }) => new URL(fake.url).host).join(',');
    const credentials = this.places.flatMap(({ fake }, i) => [
      [`CHAOS_${i}_KEY`, fake.key],
      ...(fake.secret === null ? [] : [[`CHAOS_${i}_SECRET`, fake.secret]]),
    ]);
    return {
      PATH: process.env.PATH,
      PORT: '0',
      DATABASE_URL: this.#database.url,
      FAREBOX_UNSAFE_DATABASE: 'on',
      FAREBOX_DATA_DIR: join(this.dir, 'data'),
      FAREBOX_CATALOG: join(this.dir, 'catalog'),
      FAREBOX_SECRET: secret,
      FAREBOX_SANDBOX: 'off',
      FAREBOX_DRAIN_SECONDS: '0',
      FAREBOX_BASE_URL: callbacks ? 'https://farebox.example.com/v1' : 'http://localhost:1/v1',
      FAREBOX_LOG_LEVEL: process.env.CHAOS_LOG ?? 'fatal',
      FAREBOX_LEASE_SECONDS: String(leaseSeconds),
      FAREBOX_STEP_TIMEOUT_SECONDS: String(leaseSeconds * 0.8),
      FAREBOX_POLL_SECONDS: '0.05',
      FAREBOX_DATABASE_POOL: '6',
      FAREBOX_ALLOW_PRIVATE_HOSTS: hosts,
      FAREBOX_TEST_PUBLIC_HOSTS: hosts,
      ...Object.fromEntries(credentials),
    };
  }

  // ── Callers ───────────────────────────────────────────────────────────────────────────────────

  /** Submits a request of the rig, repeating it until the answer is definite. */
  async submit(place: Place, point: string, callbacks: boolean): Promise<TrackedRequest> {
    const n = ++this.#tags;
    const tag = tagOf(n);
    const { kinds } = place.rig;
    const { model_id, input, charge_usd_micro: charge } = kinds[n % kinds.length]!;
    const until = Date.now() + submitPatienceMs;
    for (;;) {
      const node = this.nodes[n % Math.max(1, this.nodes.length)];
      const reply = node && (await this.#post(node, model_id, { ...input, prompt: tag }, tag));
      if (reply?.status === 202 || reply?.status === 200)
        return { place, charge, tag, id: reply.id, point, callbacks };
      if (reply && reply.status < 500) throw new Error(`submit ${tag}: ${JSON.stringify(reply)}`);
      if (Date.now() > until) throw new Error(`submit ${tag} got no answer`);
      await pause(30);
    }
  }

  async #post(node: Node, model: string, body: object, idempotencyKey: string) {
    try {
      const reply = await fetch(`http://127.0.0.1:${node.port}/v1/queue/${model}`, {
        method: 'POST',
        headers: {
          authorization: `Key ${this.#key}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(5_000),
      });
      const text = await reply.text();
      const { request_id: id } = JSON.parse(text) as { request_id: string };
      return { status: reply.status, id, text };
    } catch {
      return undefined;
    }
  }

  /** Asks to stop a running request. */
  async cancel(id: string): Promise<void> {
    const base = `http://127.0.0.1:${this.nodes[0]!.port}/v1/requests/${id}`;
    const headers = { authorization: `Key ${this.#key}` };
    const reply = await fetch(`${base}/cancel?running=true`, { method: 'POST', headers });
    if (reply.status !== 202)
      throw new Error(`cancel ${id}: ${reply.status} ${await reply.text()}`);
  }

  /** The bytes of a request's outputs as its owner gets them, or the fault in words. */
  async outputsOf(id: string): Promise<number[] | string> {
    const base = `http://127.0.0.1:${this.nodes[0]!.port}/v1/requests/${id}`;
    const headers = { authorization: `Key ${this.#key}` };
    const { output_urls } = (await (await fetch(base, { headers })).json()) as {
      output_urls: string[];
    };
    const sizes: number[] = [];
    for (const url of output_urls) {
      const { pathname, search } = new URL(url);
      const reply = await fetch(`http://127.0.0.1:${this.nodes[0]!.port}${pathname}${search}`);
      const bytes = await reply.arrayBuffer();
      if (reply.status !== 200 || bytes.byteLength === 0) return `output answers ${reply.status}`;
      sizes.push(bytes.byteLength);
    }
    return sizes;
  }

  // ── Upstreams that call back ──────────────────────────────────────────────────────────────────

  /**
   * Sends one callback for each job that still needs one; it counts as delivered once it was
   * accepted.
   */
  async callBack(): Promise<void> {
    const told = this.places.flatMap((place) => place.fake.journal.map((job) => ({ place, job })));
    await Promise.all(
      told.map(async ({ place: { fake, rig }, job }) => {
        const name = `${rig.name} ${job.id}`;
        if (job.callback_url === null || this.#delivered.has(name)) return;
        const call = fake.callback(job.id);
        const { pathname } = new URL(job.callback_url);
        const port = this.nodes[0]?.port ?? 1;
        const answered = await fetch(`http://127.0.0.1:${port}${pathname}`, {
          method: 'POST',
          headers: call!.headers,
          body: call!.body,
          signal: AbortSignal.timeout(3_000),
        }).catch(() => null);
        if (answered === null) return void this.missed++;
        if (answered.status >= 500) return;
        this.#delivered.add(name);
        if (answered.status !== 200)
          this.#refused.push(`a call back of ${name} was answered ${answered.status}`);
      }),
    );
  }

  refusedCalls(): string[] {
    return this.#refused.splice(0);
  }

  // ── Rows ──────────────────────────────────────────────────────────────────────────────────────

  /** Blocks all writes to the table until the lock is released. */
  async lock(table: 'attempts' | 'transfers'): Promise<{ release(): Promise<void> }> {
    const client = new pg.Client({ connectionString: this.#database.url });
    await client.connect();
    await client.query(`begin; lock table ${table} in exclusive mode`);
    return { release: () => client.end() };
  }

  /**
   * Waits until a write of a process waits for the lock, and a moment longer for writes at the same
   * time.
   */
  async blocked(): Promise<void> {
    await this.until('a write waits', () => this.isBlocked());
    await pause(60);
  }

  /** Whether a write of a process waits for the lock. */
  async isBlocked(): Promise<boolean> {
    const count = `select count(*) as n from pg_stat_activity where ${ours} and wait_event_type = 'Lock'`;
    return (await this.#number(count)) > 0;
  }

  /** Aborts every statement that dead processes have sent to the database. */
  async forget(): Promise<void> {
    await this.db.run(
      rawSql(`select pg_terminate_backend(pid) from pg_stat_activity where ${ours}`),
    );
    await this.forgotten();
  }

  /** Waits until the database has finished every statement of dead processes. */
  async forgotten(): Promise<void> {
    const count = `select count(*) as n from pg_stat_activity where ${ours}`;
    await this.until('their connections end', async () => (await this.#number(count)) === 0);
  }

  /** Ends all leases, because no process runs. */
  async endLeases(): Promise<void> {
    await this.db.run(
      rawSql(`update requests set wake_at = now() where leased and wake_at > now()`),
    );
  }

  /** Makes all starts a minute old, so that a job may be lost. */
  async age(): Promise<void> {
    await this.db.run(rawSql(`update attempts set created_at = created_at - interval '1 minute'`));
  }

  /** Makes waiting open requests due; `all` false: only those whose job is known. */
  async wake(all = true): Promise<void> {
    await this.db.run(
      rawSql(
        `update requests r set wake_at = now() where status = 'IN_PROGRESS' and not leased
         and wake_at > now() and ($1 or exists (select from attempts a
           where a.request_id = r.id and a.handle is not null))`,
        [all],
      ),
    );
    await this.db.run(rawSql(`select pg_notify('farebox', 'harness w ')`));
  }

  /** Ends the deadline of requests whose start was lost and whose recovery failed several times. */
  async giveUp(ids: string[]): Promise<void> {
    await this.db.run(
      rawSql(
        `update requests r set deadline_at = now(), wake_at = now() where id = any($1::uuid[])
         and status = 'IN_PROGRESS' and not leased and deadline_at > now() and exists (
           select from attempts a where a.request_id = r.id and a.outcome = 'unknown'
             and r.attempt >= a.attempt + 3)`,
        [ids],
      ),
    );
  }

  async open(): Promise<number> {
    return this.#number(
      `select count(*) as n from requests where status in ('IN_QUEUE', 'IN_PROGRESS')`,
    );
  }

  /** Stored files of a request's outputs, whichever process stored them. */
  stored(id: string): string[] {
    try {
      return readdirSync(join(this.dir, 'data/media/outputs', id));
    } catch {
      return [];
    }
  }

  /** True if no file of the request is left; the last one is removed a moment after its end. */
  async cleared(id: string): Promise<boolean> {
    for (let look = 0; look < 100 && this.stored(id).length > 0; look++) await pause(20);
    return this.stored(id).length === 0;
  }

  async #number(query: string): Promise<number> {
    const [row] = await this.db.run<{ n: bigint }>(rawSql(query));
    return Number(row!.n);
  }

  async until(what: string, check: () => Promise<boolean> | boolean): Promise<void> {
    const end = Date.now() + patienceMs;
    while (!(await check())) {
      if (Date.now() > end) throw new Error(`not within ${patienceMs} ms: ${what}`);
      await pause(15);
    }
  }
}

export function canStop({ rig }: Pick<Place, 'rig'>): boolean {
  return rig.cannot['cancel-late'] === undefined;
}

/** The rig's catalog, in which running jobs can be cancelled at full price if they can be at all. */
function stoppable(rig: Rig): string {
  const { catalog } = rig;
  return canStop({ rig }) ? catalog.replaceAll(/(\n +)kind:/g, '$1on_cancel: full$&') : catalog;
}

async function allRigs(): Promise<Rig[]> {
  const rigs = [keyed, named];
  const folder = join(import.meta.dirname, '../upstreams/rigs');
  // Its fake remembers keys in its front, which the door here would replace; `keyed.ts` covers
  // class A instead.
  const files = readdirSync(folder).filter((file) => file !== 'idempotent.ts');
  for (const file of files.toSorted())
    rigs.push(((await import(join(folder, file))) as { rig: Rig }).rig);
  return rigs;
}
