import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { dataIn, doors } from '../apis/doors.ts';
import { chatCatalog } from '../kit/chat-row.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { readCases, type Case, type DoorName, type ExpectedReply, type Json } from './case.ts';
import { read, type ClientReply } from './clients.ts';
import { openUpstream, type WildUpstream } from './upstream.ts';

/**
 * Replies of real services, played through every door, streamed and whole: the official clients read
 * the meaning, and the charge is the same everywhere.
 */

interface Row {
  adapter: string;
  options?: string;
  more?: string;
}

const rows: Record<string, Row> = {
  completions: { adapter: 'openai' },
  hidden: { adapter: 'openai', more: 'hidden_tokens: true' },
  /** Learns which fields of messages the server refuses. */
  learning: { adapter: 'openai' },
  /** Learns what the server refuses otherwise. */
  habits: { adapter: 'openai' },
  mistral: { adapter: 'openai' },
  schemas: { adapter: 'openai' },
  'schemas-gemini': { adapter: 'openai' },
  'schemas-reply': { adapter: 'openai' },
  'schemas-responses': { adapter: 'openai', options: '{ api: responses }' },
  templates: { adapter: 'openai' },
  groq: { adapter: 'openai', options: '{ message_fields: [name] }' },
  openai: { adapter: 'openai', options: '{ developer_role: true, custom_tools: true }' },
  messages: { adapter: 'anthropic' },
  responses: { adapter: 'openai', options: '{ api: responses }' },
};

const definition = (url: string, name: string, { adapter, options = '{}', more }: Row) =>
  chatCatalog({
    name,
    adapter,
    url,
    key_from: 'WILD_KEY',
    options,
    id: `wild/${name}`,
    price:
      '{ unit: 1M tokens, input_usd: "10", cached_input_usd: "1", cache_write_usd: "12.5", output_usd: "50" }',
    upstream_model: 'model-wild',
    more,
  });

const usual = { text: 'Say hi.', tool: 'look' };

/** `folders`: those below `cases/`. */
export function playCases(folders: string[]): void {
  const dir = mkdtempSync(join(tmpdir(), 'farebox-wild-'));
  let upstream: WildUpstream;

  after(async () => {
    const { reserved } = await service.balance(account);
    assert.equal(reserved, 0n);
  });
  const { service, account } = withService(async (use) => {
    upstream = use(await openUpstream());
    for (const [name, row] of Object.entries(rows))
      writeFileSync(join(dir, `${name}.yaml`), definition(upstream.url, name, row));
    return {
      env: {
        FAREBOX_CATALOG: dir,
        WILD_KEY: 'a-key-of-the-wild-upstream',
        FAREBOX_TEST_PUBLIC_HOSTS: new URL(upstream.url).host,
      },
    };
  });
  after(() => rmSync(dir, { recursive: true }));

  for (const scene of folders.flatMap(readCases)) {
    const sources = [scene.source].flat().join(', ');
    for (const door of Object.keys(scene.calls ?? doors) as DoorName[])
      for (const stream of [true, false])
        test(`${scene.name}: ${door}, ${stream ? 'streamed' : 'whole'} (${sources})`, () =>
          play({ service, account, upstream }, scene, door, stream));
  }
}

interface Place {
  service: Service;
  account: TestAccount;
  upstream: WildUpstream;
}

async function play(place: Place, scene: Case, door: DoorName, stream: boolean): Promise<void> {
  const { service, account, upstream } = place;
  // An earlier fault does not pause the model for the next call.
  await service.db.run(rawSql('delete from upstreams'));
  upstream.play(scene);
  const { path, body } = doors[door];
  const own = scene.calls?.[door] ?? body(usual);
  const sent = { ...own, model: `wild/${scene.row}`, ...(stream && { stream }) };
  const reply = await account.post(path, sent);
  const got = await read(door, reply, stream);
  const usualGives = stream ? scene.gives : (scene.whole ?? scene.gives);
  const gives = scene.doors?.[door] ?? usualGives;
  checkGiven(got, gives);
  if (scene.sent) checkPart(upstream.asked, scene.sent, 'body');
  const ignored = scene.ignored?.[door];
  if (ignored !== undefined) assert.equal(reply.headers.get('x-ignored-fields'), ignored);
  if (scene.charge !== undefined) {
    assert.equal(await charged(service), BigInt(scene.charge));
    if (got.cost !== undefined) assert.equal(got.cost, String(scene.charge));
  }
  if (scene.next === undefined) return;
  const { whole, streamed, next } = doors[door];
  const heard = stream ? streamed(dataIn(reply)) : whole(reply.body);
  await account.post(path, next(sent, heard, 'R'));
  checkPart(upstream.asked, scene.next, 'body of the next turn');
}

async function charged(service: Service): Promise<bigint> {
  const { charge } = await until('the call is settled', async () => {
    const [row] = await service.db.run<{ charge: bigint | null }>(sql`select charged_usd_micro as
      charge from requests order by id desc limit 1`);
    return row?.charge != null && { charge: row.charge };
  });
  return charge;
}

function checkGiven(got: ClientReply, { calls, says, error, ...gives }: ExpectedReply): void {
  assert.equal(got.error, error, got.says);
  if (says !== undefined) assert.match(got.says ?? '', new RegExp(says));
  for (const [name, value] of Object.entries(gives)) assert.equal(got[name as 'text'], value, name);
  if (calls === undefined) return;
  const given = got.calls ?? [];
  const wanted = calls.map((call, at) => ({ id: given[at]?.id, ...call }));
  assert.deepEqual(given, wanted);
  const ids = given.map(({ id }) => id);
  assert.ok(!ids.includes('') && new Set(ids).size === ids.length, 'each call has its own id');
}

/** Compares only the fields that are named. Null: the field is absent. */
function checkPart(value: unknown, part: unknown, place: string): void {
  if (part === null) assert.equal(value, undefined, place);
  else if (Array.isArray(part)) {
    assert.equal((value as unknown[])?.length, part.length, `${place}: ${JSON.stringify(value)}`);
    part.forEach((each, at) => checkPart((value as unknown[])[at], each, `${place}[${at}]`));
  } else if (typeof part === 'object')
    for (const [name, own] of Object.entries(part as Json))
      checkPart((value as Json)?.[name], own, `${place}.${name}`);
  else assert.equal(value, part, place);
}
