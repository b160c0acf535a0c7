import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { Output } from './request.ts';
import { verify } from './signature.ts';
import {
  requestUrls,
  card,
  expiry,
  failureOf,
  notificationBody,
  pollAgainSeconds,
  responseView,
  statusView,
  submittedView,
} from './views.ts';

const id = '01890f5e-27c1-7d3a-9e4f-0123456789ab';
const key_id = '01890f5e-27c1-7d3a-9e4f-0123456789ac';
const secret = Buffer.from('a secret of at least thirty-two characters');
const links = { baseUrl: 'https://api.test/v1', secret, outputTtlSeconds: 86_400, isPublic: false };
const created = new Date('2026-03-01T10:00:00.000Z');
const started = new Date('2026-03-01T10:00:01.250Z');
const completed = new Date('2026-03-01T10:00:04.999Z');

const quote = {
  price_usd_micro: '40000',
  unit: 'image' as const,
  unit_price_usd_micro: '10000',
  quantity: 4,
  breakdown: [],
  assumptions: {},
};

type CardRow = Parameters<typeof card>[0];
type StatusRow = Parameters<typeof statusView>[0];

const queued: CardRow & StatusRow = {
  id,
  key_id,
  model_id: 'fake/image',
  kind: 'image',
  status: 'IN_QUEUE',
  quoted_usd_micro: 40_000n,
  charged_usd_micro: null,
  error_code: null,
  error_message: null,
  error_details: null,
  created_at: created,
  started_at: null,
  completed_at: null,
  cancel_requested_at: null,
  progress: null,
  input: { prompt: 'a cat' },
  quote,
  output: null,
  webhook_url: null,
  door: null,
  metadata: null,
  numbered: true,
  caller_id: null,
  webhook_state: null,
  webhook_status: null,
  quantity: null,
  tokens: null,
};
const running = { ...queued, status: 'IN_PROGRESS' as const, started_at: started };
const done = {
  ...running,
  status: 'COMPLETED' as const,
  completed_at: completed,
  charged_usd_micro: 20_000n,
  quantity: 2,
  output: { seed: 7 },
};
const failed = {
  ...running,
  status: 'FAILED' as const,
  completed_at: completed,
  charged_usd_micro: 0n,
  error_code: 'timeout' as const,
};

function output(index: number, field: string, changes: Partial<Output> = {}): Output {
  return {
    index,
    field,
    storage_key: 'secret/place',
    content_type: 'image/png',
    size: 99,
    sha256: 'ab',
    width: 10,
    height: 20,
    duration_seconds: null,
    file_name: `${index}.png`,
    ...changes,
  };
}

const three = requestUrls(id, links);

test('the three addresses stand below the base address', () => {
  assert.deepEqual(three, {
    status_url: `https://api.test/v1/requests/${id}/status`,
    response_url: `https://api.test/v1/requests/${id}/response`,
    cancel_url: `https://api.test/v1/requests/${id}/cancel`,
  });
});

test("a submit's reply has the document's seven fields and the position", () => {
  const submitted = {
    request_id: id,
    model_id: 'fake/image',
    quoted_usd_micro: 9_007_199_254_740_993n,
    queue_position: 3,
  };
  const view = submittedView(submitted, links);
  assert.deepEqual(view, {
    status: 'IN_QUEUE',
    request_id: id,
    ...three,
    model_id: 'fake/image',
    quoted_usd_micro: 9_007_199_254_740_993n,
    queue_position: 3,
  });
  assert.deepEqual(submittedView({ ...submitted }, links), view);
});

describe('a status', () => {
  const base = {
    request_id: id,
    model_id: 'fake/image',
    created_at: created,
    ...three,
  };
  const logs = { progress: 0.5, logs: ['half'] };
  const cases: [what: string, row: StatusRow, position: number | null, shown: object][] = [
    ['in the queue tells its position', queued, 0, { status: 'IN_QUEUE', queue_position: 0 }],
    ['in the queue without a known position', queued, null, { status: 'IN_QUEUE' }],
    [
      'running tells how long it waited, and no position',
      running,
      4,
      {
        status: 'IN_PROGRESS',
        started_at: started,
        metrics: { queue_ms: 1_250 },
      },
    ],
    [
      'running tells its progress',
      { ...running, progress: logs },
      null,
      {
        status: 'IN_PROGRESS',
        started_at: started,
        metrics: { queue_ms: 1_250 },
        progress: 0.5,
        logs: ['half'],
      },
    ],
    [
      'a progress of zero is one',
      { ...running, progress: { progress: 0, logs: [] } },
      null,
      {
        status: 'IN_PROGRESS',
        started_at: started,
        metrics: { queue_ms: 1_250 },
        progress: 0,
      },
    ],
    [
      'completed tells both times',
      done,
      null,
      {
        status: 'COMPLETED',
        started_at: started,
        completed_at: completed,
        metrics: { queue_ms: 1_250, run_ms: 3_749 },
      },
    ],
    [
      'failed tells why, in the words of the catalogue',
      failed,
      null,
      {
        status: 'FAILED',
        started_at: started,
        completed_at: completed,
        metrics: { queue_ms: 1_250, run_ms: 3_749 },
        error: { code: 'timeout', message: 'The generation took longer than its model allows.' },
      },
    ],
    [
      'cancelled was never started',
      { ...queued, status: 'CANCELLED', completed_at: completed },
      null,
      { status: 'CANCELLED', completed_at: completed },
    ],
  ];
  for (const [what, row, position, shown] of cases) {
    test(what, () => assert.deepEqual(statusView(row, position, links), { ...base, ...shown }));
  }
});

describe('a card', () => {
  test('goes to a webhook without its input, amounts as texts and times in UTC', () => {
    const { input: _, ...rest } = card(done, [], links);
    assert.deepEqual(JSON.parse(notificationBody(done, [], links)), {
      ...rest,
      quoted_usd_micro: '40000',
      charged_usd_micro: '20000',
      created_at: '2026-03-01T10:00:00.000Z',
      started_at: '2026-03-01T10:00:01.250Z',
      completed_at: '2026-03-01T10:00:04.999Z',
    });
  });

  test('of a completed request has the charge, what was delivered and signed links', () => {
    const shown = card(done, [output(0, 'images'), output(1, 'images')], links);
    assert.equal(shown.charged_usd_micro, 20_000n);
    assert.deepEqual(shown.price, { unit: 'image', unit_price_usd_micro: '10000', quantity: 2 });
    assert.deepEqual(shown.expires_at, new Date('2026-03-02T10:00:04.000Z'));
    assert.equal(shown.output_urls.length, 2);
    assert.doesNotMatch(inspect(shown), /secret\/place/);
  });

  test('of an unfinished request has null where nothing is known yet', () => {
    const { charged_usd_micro, started_at, completed_at, expires_at, error, webhook } = card(
      queued,
      [],
      links,
    );
    assert.deepEqual(
      [charged_usd_micro, started_at, completed_at, expires_at, error, webhook],
      Array(6).fill(null),
    );
  });

  test('shows what was asked for where delivery is not known', () => {
    assert.equal(card({ ...done, quantity: null }, [], links).price.quantity, 4);
    assert.equal(card(failed, [], links).price.quantity, 4);
    assert.equal(card({ ...done, quantity: 0 }, [], links).price.quantity, 0);
  });

  test('without media does not expire', () => {
    assert.equal(card({ ...done, output: { text: 'hi' } }, [], links).expires_at, null);
  });

  test('of a failed request shows no outputs, even where rows of them are there', () => {
    const shown = card(failed, [output(0, 'images')], links);
    assert.deepEqual([shown.output_urls, shown.expires_at], [[], null]);
    assert.deepEqual(shown.error, {
      code: 'timeout',
      message: 'The generation took longer than its model allows.',
    });
  });

  const hook = { ...done, webhook_url: 'https://me.test/hook' };
  const webhooks: [row: CardRow, webhook: object][] = [
    [hook, { url: 'https://me.test/hook', state: 'pending', last_status: null }],
    [
      { ...hook, webhook_state: 'failed', webhook_status: 503 },
      { url: 'https://me.test/hook', state: 'failed', last_status: 503 },
    ],
  ];
  for (const [row, webhook] of webhooks) {
    test(`tells its webhook is ${row.webhook_state ?? 'to come'}`, () =>
      assert.deepEqual(card(row, [], links).webhook, webhook));
  }
});

describe('a response', () => {
  test('has a list under a plural, in order, and an object under a singular', () => {
    const film = output(2, 'video', {
      content_type: 'video/mp4',
      duration_seconds: 2.5,
      file_name: 'f.mp4',
    });
    const view = responseView(
      done,
      [output(0, 'images'), output(1, 'images'), film],
      links,
    ) as Record<string, any>;
    assert.deepEqual(Object.keys(view), ['seed', 'images', 'video']);
    assert.deepEqual(
      view.images.map((each: any) => each.file_name),
      ['0.png', '1.png'],
    );
    const { url, ...video } = view.video;
    assert.match(url, /\/output\/2\?/);
    assert.deepEqual(video, {
      content_type: 'video/mp4',
      width: 10,
      height: 20,
      duration: 2.5,
      file_size: 99,
      file_name: 'f.mp4',
    });
  });

  test('leaves out what a medium does not have', () => {
    const sound = output(0, 'audio', {
      content_type: 'audio/mpeg',
      width: null,
      height: null,
      duration_seconds: 1,
    });
    const { audio } = responseView(done, [sound], links) as Record<string, any>;
    assert.deepEqual(Object.keys(audio), [
      'url',
      'content_type',
      'duration',
      'file_size',
      'file_name',
    ]);
  });

  test("never passes on what the upstream wrote under a medium's name", () => {
    const theirs = {
      images: [{ url: 'https://upstream.test/x?token=1' }],
      video: 'https://upstream.test/y',
      seed: 7,
    };
    const view = responseView(
      { ...done, output: theirs },
      [output(0, 'images'), output(1, 'video')],
      links,
    );
    assert.doesNotMatch(JSON.stringify(view), /upstream\.test/);
    assert.equal((view.images as unknown[]).length, 1);
  });

  test('without media is what the upstream wrote', () => {
    assert.deepEqual(responseView({ ...done, output: { text: 'hi' } }, [], links), { text: 'hi' });
    assert.deepEqual(responseView({ ...done, output: null }, [], links), {});
  });
});

test("a link is signed for its index, until the outputs' time is over and no second longer", () => {
  const [url] = card(done, [output(3, 'images')], links).output_urls;
  const { pathname, searchParams } = new URL(url!);
  assert.equal(pathname, `/v1/requests/${id}/output/3`);
  const [exp, sig] = [searchParams.get('exp'), searchParams.get('sig')];
  assert.equal(exp, String(Date.parse('2026-03-02T10:00:04Z') / 1000));
  const at = (seconds: number, index = 3) =>
    verify([secret], { request_id: id, index, exp, sig, now_seconds: Number(exp) + seconds });
  assert.deepEqual([at(-1), at(1), at(-1, 4)], ['valid', 'expired', 'invalid']);
});

test('outputs end a whole number of seconds after completion, never later than their time', () => {
  assert.equal(expiry(done, links).toISOString(), '2026-03-02T10:00:04.000Z');
});

test("a failure has its own words, or the catalogue's", () => {
  const none = { error_message: null, error_details: null };
  const said = { ...none, error_code: 'upstream_rejected' as const, error_message: 'No cats.' };
  assert.deepEqual(failureOf(said), { code: 'upstream_rejected', message: 'No cats.' });
  const error_details = { reason: 'damaged' as const };
  assert.deepEqual(failureOf({ ...said, error_details })?.details, error_details);
  assert.equal(
    failureOf({ ...none, error_code: 'timeout' })?.message,
    'The generation took longer than its model allows.',
  );
});

test('only what is not final is asked for again', () => {
  const all = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
  assert.deepEqual(all.map(pollAgainSeconds), [2, 2, null, null, null]);
});
