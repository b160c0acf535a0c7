import assert from 'node:assert/strict';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { openEvents } from '../kit/events.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import {
  isShown,
  judge,
  rows,
  textIn,
  thoughtIn,
  type Scene,
  type SentStream,
  type Verdict,
  haveWholeCalls,
} from './chat-rule.ts';
import { setFront, type Answer, type Call } from './fakes/kit.ts';
import { fakeOpenai, type FakeOpenai } from './fakes/openai.ts';

/**
 * The whole service with the openai adapter and its fake: plays a call from its first byte to its
 * settlement and compares the result with the rule.
 */

type Json = Record<string, any>;

/** The form of a stream's bytes, and how they are cut. */
export interface Framing {
  lineEnd: '\n' | '\r\n';
  comments: boolean;
  /** Bytes in one write. */
  cut: number;
}

export const plain: Framing = { lineEnd: '\n', comments: false, cut: Infinity };

interface KeptRow {
  id: string;
  status: string;
  error_code: string | null;
  quoted_usd_micro: bigint;
  charged_usd_micro: bigint | null;
  cost_usd_micro: bigint | null;
}

interface Outcome {
  verdict: Verdict;
  row: KeptRow;
  /** The text that the caller got. */
  text: string;
  status: number | null;
}

export interface Bench {
  service: Service;
  fake: FakeOpenai;
  account: TestAccount;
  /** Plays the scene and asserts everything that the rule says about it. One at a time. */
  play(scene: Scene, options?: PlayOptions): Promise<Outcome>;
  /** Repeats the call with the same key, which does not call the upstream. */
  repeat(scene: Scene, key: string): Promise<{ text: string; status: number; charged: bigint }>;
  /** Asserts: nothing reserved, all rows final, books proven, no charge without a row. */
  proven(): Promise<void>;
  close(): Promise<void>;
}

export interface PlayOptions {
  framing?: Framing;
  /** An Idempotency-Key. */
  key?: string;
  /** The upstream does not wait for the caller to leave, who may then leave at any later place. */
  rushed?: boolean;
}

/** One call under way, as the fake sees it. */
interface PlayedCall {
  answer: Answer;
  asked: PromiseWithResolvers<void>;
  abandoned: PromiseWithResolvers<void>;
  /** Opened after the caller has left, so that the upstream continues. */
  gate: PromiseWithResolvers<void>;
  calls: number;
  /** The upstream may have sent everything by the time its caller leaves. */
  isRushed: boolean;
}

const deposit = 1_000_000_000n;
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** Texts of the fake that no caller may see. */
const secrets = /estimated_cost|cost_details|is_byok|cost_in_usd_ticks|"cost"|HIDDEN|127\.0\.0\.1/;

const usd = (micro: bigint) =>
  `0.${String(micro).padStart(6, '0')}`.replace(/^0\.(\d+)(\d{6})$/, '$1.$2');

function catalogOf({ url }: FakeOpenai): string {
  const models = Object.entries(rows).map(
    ([name, row]) => `
  - id: bench/${name}
    kind: text
    task: chat
    name: Chat that knows ${name}
    price: { unit: 1M tokens, input_usd: "${usd(row.input)}", output_usd: "${usd(row.output)}" }
    cost_input_usd: "${usd(row.costInput)}"
    cost_output_usd: "${usd(row.costOutput)}"
    context_tokens: 100000
    max_output_tokens: 8192
    on_disconnect: ${name === 'stop' ? 'stop' : 'finish'}
    hidden_tokens: ${name === 'thinks'}
    upstream_model: gpt-${name}`,
  );
  return `
upstream: { name: bench, adapter: openai, url: "${url}", key_from: BENCH_KEY }
models:${models.join('')}
`;
}

export async function openBench(): Promise<Bench> {
  const fake = await fakeOpenai();
  const service = await startService({
    catalog: catalogOf(fake),
    env: { BENCH_KEY: fake.key, FAREBOX_TEST_PUBLIC_HOSTS: new URL(fake.url).host },
  });
  const account = await service.account({ usd: 1_000 });
  const playing = new Map<string, PlayedCall>();
  let made = 0;
  setFront(fake.url, async (call, answer) => {
    const played = call.method === 'POST' ? playing.get(call.json<Json>().user) : undefined;
    const reply = await answer();
    return played ? { ...reply, abandoned: () => played.abandoned.resolve() } : reply;
  });
  const scripted = (call: Call): Answer => {
    const played = playing.get(call.json<Json>().user)!;
    played.calls++;
    played.asked.resolve();
    return played.answer;
  };

  async function play(asked: Scene, { framing = plain, key, rushed = false }: PlayOptions = {}) {
    const scene = { ...asked, keyed: key !== undefined };
    for (;;) {
      const tag = `scene-${++made}`;
      const played = prepare(scene, framing, rushed);
      fake.chat.script(scripted);
      const earlier = (await newest(service, account))?.id;
      const user = key ?? tag;
      playing.set(user, played);
      const calling = call(service, account, scene, bodyOf(scene, user), played, key);
      const got = await calling.catch((error: unknown) => {
        // The caller was to leave in the middle, but was refused before.
        if (played.calls > 0) throw error;
        return { text: String(error), status: 503 };
      });
      if (got.status === 503 && played.calls === 0) {
        // Ends pauses of the upstream after failures of earlier scenes.
        await service.db.run(rawSql('delete from upstreams'));
        continue;
      }
      const row = await until('the call is settled', async () => {
        const each = await newest(service, account);
        return each && each.id !== earlier && each.charged_usd_micro !== null ? each : null;
      });
      assert.equal(played.calls, 1, 'the upstream is called once');
      playing.delete(user);
      const verdict = rushed ? oneOf(scene, row) : judge(scene);
      const outcome = { verdict, row, ...got };
      assertFits(scene, outcome);
      return outcome;
    }
  }

  async function repeat(scene: Scene, key: string) {
    const before = (await service.balance(account)).available;
    const asked = fake.chat.asked.length;
    const reply = await service.call('POST', '/v1/chat/completions', {
      key: account.key,
      body: bodyOf(scene, key),
      headers: { 'idempotency-key': key },
    });
    assert.equal(fake.chat.asked.length, asked, 'the upstream is not called again');
    assert.equal(reply.headers.get('idempotent-replayed'), 'true');
    const charged = before - (await service.balance(account)).available;
    return { text: reply.text, status: reply.status, charged };
  }

  return {
    service,
    fake,
    account,
    play,
    repeat,
    async proven() {
      await assertProven(service, account);
      await service.audit();
    },
    async close() {
      setFront(fake.url, null);
      await service.stop();
      await fake.close();
    },
  };
}

function prepare(scene: Scene, framing: Framing, isRushed: boolean): PlayedCall {
  const gate = Promise.withResolvers<void>();
  if (isRushed) gate.resolve();
  const { answer: said, leaves } = scene;
  const headers = { 'content-type': 'text/event-stream; charset=utf-8' };
  const answer: Answer =
    'body' in said
      ? leaves === null
        ? { status: said.status, json: said.body }
        : { headers: { 'content-type': 'application/json' }, pieces: late(said.body, gate.promise) }
      : { headers, pieces: piecesOf(said, leaves, framing, gate.promise) };
  return {
    answer,
    asked: Promise.withResolvers(),
    abandoned: Promise.withResolvers(),
    gate,
    calls: 0,
    isRushed,
  };
}

async function* late(body: Json, gate: Promise<void>): AsyncGenerator<string> {
  await gate;
  yield JSON.stringify(body);
}

/** The stream up to the place where the caller leaves; once the caller has left, the rest. */
async function* piecesOf(
  { events, end }: SentStream,
  leaves: number | null,
  { lineEnd, comments, cut }: Framing,
  gate: Promise<void>,
): AsyncGenerator<Buffer> {
  const written = (data: string) =>
    `${comments ? `: keep-alive${lineEnd}${lineEnd}` : ''}data: ${data}${lineEnd}${lineEnd}`;
  let waiting = '';
  let shown = 0;
  const flushed = function* (): Generator<Buffer> {
    const bytes = Buffer.from(waiting);
    waiting = '';
    for (let at = 0; at < bytes.length; at += cut)
      yield bytes.subarray(at, Math.min(bytes.length, at + cut));
  };
  if (leaves === 0) await gate;
  for (const event of events) {
    waiting += written(typeof event === 'string' ? event : JSON.stringify(event));
    if (typeof event === 'string' || !isShown(event) || ++shown !== leaves) continue;
    yield* flushed();
    await gate;
  }
  if (end === 'done') waiting += written('[DONE]');
  yield* flushed();
  if (end === 'dies') throw new Error('the upstream dies');
}

function bodyOf(scene: Scene, user: string): Json {
  const { row, max_tokens, include_usage, streamed } = scene;
  const messages = scene.messages.map(({ word, pictures }) => ({
    role: 'user',
    content:
      pictures === 0
        ? word
        : [
            { type: 'text', text: word },
            ...Array.from({ length: pictures }, () => ({
              type: 'image_url',
              image_url: { url: picture },
            })),
          ],
  }));
  const stream = streamed && {
    stream: true,
    ...(include_usage && { stream_options: { include_usage } }),
  };
  return { model: `bench/${row}`, messages, max_tokens, user, ...stream };
}

async function call(
  { call: send, base, app }: Service,
  { key: apiKey }: TestAccount,
  { row, streamed, leaves }: Scene,
  body: Json,
  played: PlayedCall,
  key?: string,
): Promise<{ text: string; status: number | null }> {
  const path = '/v1/chat/completions';
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  if (leaves === null) {
    const { text, status } = await send('POST', path, { key: apiKey, body, headers });
    return { text, status };
  }
  let text = '';
  if (leaves === 0) {
    const left = new AbortController();
    const begun = send('POST', path, { key: apiKey, body, headers, signal: left.signal });
    // If the upstream does not wait, the whole answer may come before the caller leaves.
    const gone = played.isRushed ? begun.catch(() => {}) : assert.rejects(begun);
    const early = begun.then(({ status, text: said }) =>
      assert.fail(`answered ${status} before the upstream was asked: ${said}`),
    );
    // The first rejection is reported; the other is ignored.
    for (const each of [gone, early]) each.catch(() => {});
    await Promise.race([played.asked.promise, early]);
    left.abort();
    await gone;
  } else {
    const events = await openEvents(base, path, { key: apiKey, body, headers });
    for (let read = 0; read < leaves;) {
      const event = await events.next();
      assert.ok(event, 'the stream ended early');
      if (event.comment !== undefined) continue;
      text += event.data;
      read++;
    }
    events.leave();
    const open = async () => (await app.metrics.streams.get()).values[0]!.value;
    await until('the service has noticed', async () => (await open()) === 0);
  }
  if (row === 'stop' && (streamed || key === undefined) && !played.isRushed)
    await within(played.abandoned.promise, 'the upstream is let go');
  played.gate.resolve();
  return { text, status: null };
}

async function within(promise: Promise<void>, what: string): Promise<void> {
  let isOver = false;
  void promise.then(() => (isOver = true));
  await until(what, () => isOver);
}

async function newest({ db }: Service, { account_id }: TestAccount): Promise<KeptRow | undefined> {
  const [row] = await db.run<KeptRow>(sql`
    select r.id, r.status, r.error_code, r.quoted_usd_micro, r.charged_usd_micro,
        s.cost_usd_micro from requests r left join request_results s on s.request_id = r.id
       where r.account_id = ${account_id} order by r.id desc limit 1`);
  return row;
}

/** The verdict that fits the row, among those of all places where the caller may have left. */
function oneOf(scene: Scene, row: KeptRow): Verdict {
  const { events } = scene.answer as SentStream;
  const places: (number | null)[] = [null];
  for (let at = scene.leaves!; at <= events.length; at++) places.push(at);
  const verdicts = places.map((leaves) => ({ ...judge({ ...scene, leaves }), http: null }));
  const fits = ({ charge, cost, status }: Verdict) =>
    charge === row.charged_usd_micro && cost === row.cost_usd_micro && status === row.status;
  return verdicts.find(fits) ?? verdicts[0]!;
}

function assertFits(scene: Scene, { verdict, row, text, status }: Outcome): void {
  const seen = {
    quote: row.quoted_usd_micro,
    charge: row.charged_usd_micro,
    cost: row.cost_usd_micro,
    status: row.status,
    code: row.error_code,
    http: status,
  };
  const { quote, charge, cost, status: end, code, http } = verdict;
  assert.deepEqual(seen, { quote, charge, cost, status: end, code, http }, text);
  assert.ok(row.charged_usd_micro! <= row.quoted_usd_micro);
  if (verdict.counted) assert.ok(row.charged_usd_micro! > 0n, 'delivered, and free');
  assert.doesNotMatch(text, secrets);
  if (status !== 200) return;
  if (!scene.streamed) {
    const { usage } = JSON.parse(text);
    assert.equal(usage.cost_usd_micro, String(charge));
  } else assertShown(scene, verdict, text);
}

/** Asserts the stream that a caller who stays sees. */
function assertShown({ include_usage }: Scene, verdict: Verdict, text: string): void {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
  const data = events.map((event) => event.slice('data: '.length));
  assert.equal(data.pop(), '[DONE]');
  const chunks = data.map((each) => JSON.parse(each) as Json);
  if (verdict.broken) assert.equal(chunks.pop()!.error.code, 'submit_failed');
  const isTold = include_usage && !(verdict.broken && verdict.status === 'FAILED');
  const told = chunks.filter(({ usage }) => (usage ?? null) !== null);
  assert.deepEqual(
    told.map(({ choices, usage }) => [choices, usage.cost_usd_micro]),
    isTold ? [[[], String(verdict.charge)]] : [],
  );
  const shown = chunks.filter(({ choices }) => choices.length > 0);
  if (verdict.shown === null) return;
  const said = shown.map(({ choices: [choice] }) => choice);
  for (const choice of said) assert.deepEqual([choice.index, choice.logprobs], [0, null]);
  const { broken } = verdict;
  const sent = verdict.shown.map(({ choices: [choice] }) => choice);
  assert.deepEqual(sumOf(said, broken), sumOf(sent, broken));
}

/**
 * The text and the reasoning of choices, and their finish reason; without one, the service's. The
 * reason of a reply that broke off says nothing.
 */
function sumOf(choices: Json[], broken: boolean): Json {
  const deltas = choices.map(({ delta }) => delta as Json);
  const reasons = choices.map(({ finish_reason }) => finish_reason).filter((each) => each);
  const last = reasons.at(-1) as string | undefined;
  const called = deltas.some((delta) => delta.tool_calls ?? delta.function_call);
  const isCut = last === 'length' || !haveWholeCalls(deltas);
  return {
    content: deltas.map(({ content }) => textIn(content)).join(''),
    reasoning: deltas.map(thoughtIn).join(''),
    // A reply that ended well calls tools or does not, or its call was cut.
    reason: broken ? null : isCut ? 'length' : called ? 'tool_calls' : 'stop',
  };
}

async function assertProven(service: Service, account: TestAccount): Promise<void> {
  const { available, reserved } = await service.balance(account);
  const [sums] = await service.db.run<{ open: bigint; charged: bigint | null }>(sql`
    select count(*) filter (where charged_usd_micro is null) as open,
        sum(charged_usd_micro)::bigint as charged from requests where account_id = ${account.account_id}`);
  assert.equal(reserved, 0n);
  assert.equal(sums!.open, 0n);
  assert.equal(deposit - available, sums!.charged ?? 0n, 'each charge is a row’s');
}
