import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import sharp, { type Sharp } from 'sharp';
import { sql } from '../../src/lib/sql/sql.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import { accept } from '../kit/fake.ts';
import { fakeCatalog, type TestAccount } from '../kit/service.ts';
import { inShort } from '../kit/long.ts';
import { until } from '../kit/until.ts';
import { before, withService } from '../kit/with-service.ts';
import { openStand, pictureRows, type Stand } from '../upstreams/openai-kit.ts';
import { fileOf } from '../upstreams/job-kit.ts';
import { submitted } from './floor.ts';

/** Accounts take turns to have their files decoded: slow ones delay only their own account. */

/** Slow files that are in the line before the other account's small one. */
const slowCount = 12;
/** One is under way, and a few end while the other account's call is handled. */
const turnsMax = slowCount / 2;

const noise = (side: number): Sharp =>
  sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } });
const frames = (side: number, count: number): Sharp =>
  sharp(randomBytes(side * side * 3 * count), {
    raw: { width: side, height: side * count, channels: 3, pageHeight: side },
  });
const slow = {
  'interlaced PNG': () => noise(1500).png({ progressive: true, compressionLevel: 1 }),
  'progressive JPEG': () => noise(1300).jpeg({ progressive: true }),
  'large AVIF': () => noise(700).avif({ effort: 0 }),
  'animated WebP': () => frames(300, 20).webp({ effort: 0, quality: 60 }),
  // Two values make its PNG small, but not quick.
  'large TIFF': () => noise(1200).threshold(128, { grayscale: false }).tiff({ compression: 'lzw' }),
};
type SlowPicture = keyof typeof slow;
const typeOf: Record<SlowPicture, string> = {
  'interlaced PNG': 'image/png',
  'progressive JPEG': 'image/jpeg',
  'large AVIF': 'image/avif',
  'animated WebP': 'image/webp',
  'large TIFF': 'image/tiff',
};

interface Picture {
  bytes: Buffer;
  type: string;
}

const catalog = fakeCatalog + pictureRows;

let stand: Stand;
let greedy: TestAccount;
let other: TestAccount;
/** The pictures at callers' addresses. */
const served = new Map<string, Picture>();
/** The outputs of the fake's jobs, by request. */
const outputs = new Map<string, Buffer>();

const { service } = withService(async (use) => {
  stand = use(await openStand());
  const { url, key } = stand.fake;
  const download = async (address: string) => {
    const { bytes, type } = served.get(address)!;
    return fileOf(bytes, { content_type: type });
  };
  const upstream = createOpenai(
    { name: 'open', url, key, secret: null, concurrency: 100, options: {} },
    { ...stand.tools, download },
  );
  return {
    catalog,
    upstreams: [upstream],
    env: { FAREBOX_BODIES_MAX_BYTES: String(2 ** 30) },
    // Only the order matters, however slow this machine is.
    times: { shareWaitMs: 300_000 },
  };
});
before(async () => {
  service.fake.behave.start = (job, fake) => accept(fake, job);
  for (const who of ['greedy', 'other'] as const) {
    const account = await service.account({ open_jobs: 100 });
    if (who === 'greedy') greedy = account;
    else other = account;
  }
});

let made = 0;
/** The same picture with another digest. */
const another = (bytes: Buffer) => Buffer.concat([bytes, Buffer.from(`\n${++made}`)]);

async function uploaded(account: TestAccount, { bytes, type }: Picture): Promise<string> {
  const reply = await account.upload(bytes, type);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.file_id;
}

/** Resolves when the pictures are in the line, with the time at which each will be through. */
type Enter = () => Promise<{ ends: Promise<number[]> }>;
/** Prepares an account's pictures, so that little is left to do when they go into the line. */
type Way = (account: TestAccount, pictures: Picture[]) => Promise<Enter>;

/** Runs rounds of the worker until these jobs are in the line. */
async function jobs(ids: string[], isInLine: () => Promise<boolean> | boolean) {
  const rounds: Promise<number>[] = [];
  await until('the jobs are in the line', () => {
    rounds.push(service.app.worker!.runOnce());
    return isInLine();
  });
  const ends = Promise.all(rounds).then(async () => {
    const rows = await service.db.run<{ status: string; at: number }>(sql`
      select status, extract(epoch from completed_at)::float8 as at from requests
        where id = any(${ids})`);
    for (const { status } of rows) assert.equal(status, 'COMPLETED');
    return rows.map(({ at }) => at * 1000);
  });
  return { ends };
}

async function begun(ids: string[]): Promise<boolean> {
  const [row] = await service.db.run<{ queued: bigint }>(sql`select count(*) as queued from requests
    where id = any(${ids}) and status = 'IN_QUEUE'`);
  return row!.queued === 0n;
}

/** Sends all calls, and resolves when the service has them. */
async function calls(all: (() => Promise<{ status: number }>)[]) {
  const { counts } = service.app.metrics;
  const wanted = counts.inFlight + all.length;
  const ends = all.map(async (call) => {
    assert.equal((await call()).status, 200);
    return Date.now();
  });
  await Promise.race([ends.at(-1)!, until('all calls have come', () => counts.inFlight >= wanted)]);
  return { ends: Promise.all(ends) };
}

const asOutputs: Way = async (account, pictures) => async () => {
  const ids: string[] = [];
  for (const { bytes } of pictures) {
    const id = await submitted(account);
    outputs.set(id, bytes);
    ids.push(id);
  }
  let polled = 0;
  service.fake.behave.poll = ({ key }) => {
    polled += 1;
    const source = { bytes: outputs.get(String(key))! };
    return { state: 'done', result: { media: [{ field: null, source }], fields: {} } };
  };
  return jobs(ids, () => polled === ids.length);
};

const asInputs =
  (value: (account: TestAccount, picture: Picture) => Promise<string>): Way =>
  async (account, pictures) => {
    const values: string[] = [];
    for (const picture of pictures) values.push(await value(account, picture));
    return async () => {
      const ids: string[] = [];
      for (const image_url of values)
        ids.push(await submitted(account, { prompt: 'a', image_url }, 'open/edit'));
      return jobs(ids, () => begun(ids));
    };
  };

const inChats: Way = async (account, pictures) => {
  const files: string[] = [];
  for (const picture of pictures) files.push(await uploaded(account, picture));
  const all = files.map((url) => () => {
    const content = [{ type: 'image_url', image_url: { url } }];
    const messages = [{ role: 'user', content }];
    const body = { model: 'open/chat', max_tokens: 5, messages };
    return account.post('/v1/chat/completions', body);
  });
  return () => calls(all);
};

const asThumbnails: Way = async (account, pictures) => {
  const enter = await asOutputs(account, pictures);
  await (
    await enter()
  ).ends;
  const { body } = await account.get(
    `/v1/requests?model_id=fake/image&status=COMPLETED&limit=${pictures.length}`,
  );
  const addresses = body.data.map(({ outputs: [first] }: any) => new URL(first.thumbnail_url));
  const all = addresses.map(
    ({ pathname, search }: URL) =>
      () =>
        service.call('GET', pathname + search),
  );
  return () => calls(all);
};

const asData = async (_: TestAccount, { bytes, type }: Picture) =>
  `data:${type};base64,${bytes.toString('base64')}`;
const atAddress = async (_: TestAccount, picture: Picture) => {
  const address = `https://example.com/${++made}`;
  served.set(address, picture);
  return address;
};

const ways: [name: string, way: Way, kinds: SlowPicture[]][] = [
  [
    'outputs of jobs',
    asOutputs,
    ['progressive JPEG', 'interlaced PNG', 'large AVIF', 'animated WebP'],
  ],
  ['uploads that are converted', asInputs(uploaded), ['progressive JPEG', 'large TIFF']],
  ['data: addresses that are converted', asInputs(asData), ['large AVIF']],
  [
    "callers' addresses that are converted",
    asInputs(atAddress),
    ['large TIFF', 'progressive JPEG'],
  ],
  ['files of chats', inChats, ['large TIFF']],
  ['small pictures for the pages', asThumbnails, ['interlaced PNG', 'progressive JPEG']],
];

describe("one account's slow pictures delay another account's small one by few turns:", () => {
  const cases = inShort(2, ways).flatMap(([name, way, kinds]) =>
    inShort(1, kinds).map((kind) => ({ name, way, kind })),
  );
  for (const { name, way, kind } of cases)
    test(`${name}, ${kind}`, async () => {
      const big = await slow[kind]().toBuffer();
      const type = typeOf[kind];
      const format = type.slice('image/'.length) as 'png';
      const few = await noise(20).toFormat(format).toBuffer();
      const many = Array.from({ length: slowCount }, () => ({ bytes: another(big), type }));
      const greedily = await way(greedy, many);
      const modestly = await way(other, [{ bytes: another(few), type }]);
      const theirs = await greedily();
      const mine = await modestly();
      const [[end], ends] = await Promise.all([mine.ends, theirs.ends]);
      const earlier = ends.filter((each) => each < end!).length;
      assert.ok(earlier <= turnsMax, `${earlier} of ${slowCount} were through before`);
    });
});
