import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import sharp from 'sharp';
import { sql } from '../../../src/lib/sql/sql.ts';
import { createOpenai } from '../../../src/upstreams/openai/openai.ts';
import { accept } from '../../kit/fake.ts';
import { inShort } from '../../kit/long.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { fakeCatalog, type TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { openStand, pictureRows, type Stand } from '../../upstreams/openai-kit.ts';
import { moneyOf, rounds, submitted } from '../../worker/floor.ts';

/** Calls whose files get no turn in time, while an account's slow outputs are decoded. */

const media = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../fixtures/media', name));
const catalog = fakeCatalog + pictureRows;
const outputCount = 10;

let stand: Stand;
let slow: Buffer;
const { service } = withService(async (use) => {
  slow = await sharp(randomBytes(2600 ** 2 * 3), {
    raw: { width: 2600, height: 2600, channels: 3 },
  })
    .jpeg({ progressive: true })
    .toBuffer();
  stand = use(await openStand());
  const { url, key } = stand.fake;
  const settings = { name: 'open', url, key, secret: null, concurrency: 100, options: {} };
  return {
    catalog,
    upstreams: [createOpenai(settings, stand.tools)],
    times: { shareWaitMs: 20 },
    // For the files of a job; outputs have FAREBOX_OUTPUT_SECONDS besides.
    env: { FAREBOX_STEP_TIMEOUT_SECONDS: '0.2' },
  };
});
before(async () => {
  const result = { media: [{ field: null, source: { bytes: slow } }], fields: {} };
  service.fake.behave.start = (job, fake) => accept(fake, job);
  service.fake.behave.poll = () => ({ state: 'done', result });
});

async function inLine(state: 'running' | 'waiting'): Promise<number> {
  const gauge = service.app.metrics.registry.getSingleMetric(`farebox_share_${state}`)!;
  const { values } = await gauge.get();
  return values.find(({ labels }) => labels.share === 'decoding')!.value;
}

/** Has slow outputs of these accounts in the line while `work` runs. All of them are kept. */
async function besideOutputs(accounts: TestAccount[], work: () => Promise<void>): Promise<void> {
  const ids: string[] = [];
  for (const account of accounts)
    for (let i = 0; i < outputCount; i++) ids.push(await submitted(account));
  const handling: Promise<void>[] = [];
  await until('the outputs are in the line', async () => {
    handling.push(service.work());
    return (await inLine('waiting')) >= accounts.length * (outputCount - 1);
  });
  await work();
  await Promise.all(handling);
  await service.work();
  for (const id of ids) assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  assert.equal(await inLine('waiting'), 0);
}

const upload = (account: TestAccount, name: string, type: string, signal?: AbortSignal) =>
  account.upload(media(name), type, signal && { signal });

async function chatter() {
  const account = await service.account({ open_jobs: 100 });
  const { body } = await upload(account, 'lzw.tif', 'image/tiff');
  const content = [{ type: 'image_url', image_url: { url: body.file_id } }];
  const chat = { model: 'open/chat', max_tokens: 5, messages: [{ role: 'user', content }] };
  const call = () => account.post('/v1/chat/completions', chat);
  return { account, call };
}

async function chatsOf({ account_id }: TestAccount) {
  const [row] = await service.db.run<{ open: bigint; charged: bigint }>(sql`
    select count(*) filter (where completed_at is null) as open,
         coalesce(sum(charged_usd_micro), 0)::bigint as charged
       from requests where account_id = ${account_id} and kind = 'text'`);
  return row;
}

const stored = ({ account_id }: TestAccount) =>
  readdirSync(service.dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
    new RegExp(`files/${account_id}/.+`).test(path),
  ).length;

describe('a chat whose picture gets no turn is not sent and costs nothing:', () => {
  const cases: [
    whose: string,
    owners: 'own' | 'others',
    code: 'rate_limited' | 'capacity_unavailable',
  ][] = [
    ['because of its own account', 'own', 'rate_limited'],
    ['because of two others', 'others', 'capacity_unavailable'],
  ];
  for (const [whose, owners, code] of inShort(1, cases))
    test(whose, async () => {
      const { account, call } = await chatter();
      const others = [await service.account(), await service.account()];
      await besideOutputs(owners === 'own' ? [account] : others, async () => {
        const asked = stand.fake.chat.asked.length;
        const error = assertRefused(await call(), code);
        assert.equal(error.details?.reason, code === 'rate_limited' ? 'account_share' : undefined);
        assert.deepEqual(await chatsOf(account), { open: 0n, charged: 0n });
        assert.equal(stand.fake.chat.asked.length, asked);
        if (owners === 'own') assert.equal((await (await chatter()).call()).status, 200);
      });
      assert.equal((await call()).status, 200);
    });
});

describe('an upload whose tracks get no turn leaves nothing:', () => {
  test('its own account has the place', async () => {
    const [account, other] = [await service.account(), await service.account()];
    await besideOutputs([account], async () => {
      const earlier = await traces(service);
      const error = assertRefused(await upload(account, 'sound.mp4', 'audio/mp4'), 'rate_limited');
      assert.equal(error.details?.reason, 'account_share');
      assert.equal((await traces(service)).files, earlier.files);
      assert.equal(stored(account), 0);
      const picture = await upload(account, 'photo.png', 'image/png');
      assert.equal(picture.status, 201, 'a picture is not read at its upload');
      assert.equal(stored(account), 1);
      assert.equal((await upload(other, 'sound.mp4', 'audio/mp4')).status, 201);
    });
    assert.equal((await upload(account, 'sound.mp4', 'audio/mp4')).status, 201);
  });
});

test('a job whose picture gets no turn is started later, once, and is charged once', async () => {
  const account = await service.account({ open_jobs: 100 });
  const { body } = await upload(account, 'lzw.tif', 'image/tiff');
  const made = stand.fake.journal.length;
  let id = '';
  await besideOutputs([account], async () => {
    const input = { prompt: 'a', image_url: body.file_id };
    id = await submitted(account, input, 'open/edit');
    const worked = service.app.worker!.runOnce();
    await until('its time for files is up', async () => {
      const [row] = await service.db.run<{ tried: boolean }>(sql`select exists (select from attempts
        where request_id = ${id} and outcome = 'not_accepted') as tried`);
      return row!.tried;
    });
    assert.equal(stand.fake.journal.length, made, 'nothing was sent');
    await worked;
  });
  await rounds(service, 3);
  assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  assert.equal(stand.fake.journal.length, made + 1);
});
