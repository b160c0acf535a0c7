import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Model } from '../../src/core/catalog/catalog.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { openEvents } from '../kit/events.ts';
import { startService } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { setFront, type Answer, type Call } from '../upstreams/fakes/kit.ts';
import { messagesWire } from '../upstreams/fakes/messages-chat.ts';
import { fakeOpenai } from '../upstreams/fakes/openai.ts';
import { billOrNull } from './bill.ts';
import { chatBillOf, type ChatBill } from './chat-bill.ts';
import { visible, type ChatAbuse } from './chat-abuses.ts';
import { chatForms, type ChatForm } from './chat-forms.ts';
import type { Outcome } from './world.ts';

/**
 * The chat rows of the real catalog against upstreams that bill: a vendor thinks unseen, works on
 * after its caller has left, and reports its usage at the very end, or not at all.
 */

const catalogDir = join(import.meta.dirname, '../../../catalog');

export interface ChatWorld {
  rows: Model[];
  run(abuses: readonly ChatAbuse[]): Promise<Outcome[]>;
  close(): Promise<void>;
}

/** A vendor: the form of its API, and its stand-in. */
interface Vendor {
  upstream: string;
  form: ChatForm;
  fake: { url: string; key: string; close(): Promise<void> };
}

function fakeFor({ name, adapter }: { name: string; adapter: string }): Promise<Vendor['fake']> {
  if (adapter === 'anthropic') return messagesWire.open();
  return fakeOpenai(name === 'openrouter' ? 'openrouter' : 'openai');
}

export async function openChatWorld(
  wanted: (row: Model) => boolean = () => true,
): Promise<ChatWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-billing-'));
  const env: Record<string, string> = { FAREBOX_CATALOG: dir };
  const vendors: Vendor[] = [];
  const rows: Model[] = [];
  for (const file of readdirSync(catalogDir).filter((name) => name.endsWith('.yaml'))) {
    const { upstream, ...content } = parse(readFileSync(join(catalogDir, file), 'utf8'));
    content.models = content.models.filter((row: Model) => row.kind === 'text' && wanted(row));
    const form = chatForms[upstream?.adapter];
    if (form === undefined || content.models.length === 0) continue;
    const fake = await fakeFor(upstream);
    vendors.push({ upstream: upstream.name, form, fake });
    const key_from = `KEY_OF_${upstream.name.toUpperCase()}`;
    env[key_from] = fake.key;
    const { url_from: _url, secret_from: _secret, ...kept } = upstream;
    const url = upstream.options?.base_path ? new URL(fake.url).origin : fake.url;
    const text = stringify({ upstream: { ...kept, url, key_from, concurrency: 500 }, ...content });
    writeFileSync(join(dir, file), text);
    rows.push(...parseCatalogText(text, file).rows);
  }
  const service = await startService({ env });
  const account = await service.account({ usd: 100_000, open_jobs: 100_000 });
  let abusing: ChatAbuse;
  let gate = Promise.withResolvers<void>();
  /** Requests that have been judged. */
  const seen = new Set<string>();
  /** The vendor's bill of each call, by the call's mark. */
  const journal = new Map<string, ChatBill>();
  for (const vendor of vendors)
    setFront(vendor.fake.url, async (call, answer) => {
      if (!call.path.endsWith(vendor.form.path)) return answer();
      return answerOf(vendor, call);
    });

  function answerOf({ upstream, form }: Vendor, call: Call): Answer {
    const body = form.asked(call.json());
    const bill = billOrNull(() => chatBillOf(upstream, body, visible.join('')));
    if (bill === null) return { status: 400, json: { error: { message: 'prompt is too long' } } };
    journal.set(body.messages[0].content, bill);
    if (body.stream !== true) return { pieces: late(JSON.stringify(form.whole(bill))) };
    const headers = { 'content-type': 'text/event-stream; charset=utf-8' };
    return { headers, pieces: streamed(form, bill) };
  }

  async function* late(text: string): AsyncGenerator<string> {
    await gate.promise;
    yield text;
  }

  /** The stream up to the event at which the caller leaves; once it has left, the rest. */
  async function* streamed(form: ChatForm, bill: ChatBill): AsyncGenerator<string> {
    const { leaves, silent } = abusing;
    const stop = typeof leaves === 'number' ? leaves : Infinity;
    const told = silent ? null : bill;
    yield form.begin(told);
    for (const [i, content] of visible.entries()) {
      if (i === stop) await gate.promise;
      yield form.word(content);
    }
    await gate.promise;
    yield form.end(told);
  }

  async function run(abuses: readonly ChatAbuse[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const abuse of abuses) outcomes.push(...(await runOne(abuse)));
    return outcomes;
  }

  async function runOne(abuse: ChatAbuse): Promise<Outcome[]> {
    abusing = abuse;
    gate = Promise.withResolvers();
    if (typeof abuse.leaves !== 'number') gate.resolve();
    const calls = await Promise.all(rows.map((row) => callFor(row, abuse)));
    await until('the service has noticed', async () => {
      const { values } = await service.app.metrics.streams.get();
      return values[0]!.value === 0;
    });
    gate.resolve();
    await until('all is settled', async () => {
      const [row] = await service.db.run<{ n: bigint }>(
        rawSql(`select count(*) as n from requests where status in ('IN_QUEUE', 'IN_PROGRESS')`),
      );
      return row!.n === 0n;
    });
    for (const { leave } of calls) leave();
    return Promise.all(rows.map((row, i) => judged(row, abuse, calls[i]!)));
  }

  /** A call whose first message has a mark, by which journal and books are compared. */
  async function callFor(row: Model, abuse: ChatAbuse) {
    const mark = `${abuse.name} ${row.id}`;
    const body = abuse.body(row) as { messages: unknown[]; stream?: boolean };
    const messages = [{ role: 'system', content: mark }, ...body.messages];
    const sent = { ...body, model: row.id, messages };
    const options = { key: account.key, body: sent };
    const path = '/v1/chat/completions';
    const none = { mark, status: 0, leave: () => {} };
    if (abuse.leaves === 0) {
      const left = new AbortController();
      const begun = service.call('POST', path, { ...options, signal: left.signal }).then(
        ({ status }) => status,
        () => 0,
      );
      await until('it is asked or refused', async () => {
        const status = await Promise.race([begun, Promise.resolve(0)]);
        return status >= 400 || journal.has(mark);
      });
      left.abort();
      return { ...none, status: await begun };
    }
    if (body.stream !== true) {
      const { status } = await service.call('POST', path, options);
      return { ...none, status };
    }
    const events = await openEvents(service.base, path, options);
    if (abuse.leaves === 'never reads') {
      events.stopReading();
      return { ...none, status: events.status, leave: () => events.leave() };
    }
    for (let read = 0; events.status === 200 && read < (abuse.leaves ?? Infinity);) {
      const event = await events.next();
      if (event === null) break;
      if (event.comment === undefined) read++;
    }
    events.leave();
    return { ...none, status: events.status };
  }

  async function judged(
    row: Model,
    abuse: ChatAbuse,
    { mark, status }: { mark: string; status: number },
  ): Promise<Outcome> {
    const bill = journal.get(mark);
    const [found] = await service.db.run<{
      id: string;
      status: string;
      charged: bigint | null;
      booked: bigint | null;
      error: string | null;
    }>(
      rawSql(
        `select r.id, r.status, r.charged_usd_micro as charged, s.cost_usd_micro as booked,
           s.error_message as error
         from requests r left join request_results s on s.request_id = r.id
         where r.model_id = $1 order by r.id desc limit 1`,
        [row.id],
      ),
    );
    // A refused call has no request: then the newest request is that of an earlier abuse.
    const end = found && !seen.has(found.id) ? found : undefined;
    if (end) seen.add(end.id);
    return {
      row,
      abuse,
      status: end?.status ?? `refused`,
      charged: end?.charged ?? 0n,
      billed: bill ? BigInt(Math.ceil(Number((bill.usd * 1e6).toFixed(3)))) : null,
      booked: end?.booked ?? null,
      cancelled: null,
      message: end?.error ?? String(status),
    };
  }

  return {
    rows,
    run,
    async close() {
      await service.audit();
      await service.stop();
      for (const { fake } of vendors) {
        setFront(fake.url, null);
        await fake.close();
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
