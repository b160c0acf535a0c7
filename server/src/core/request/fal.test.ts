import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { ApiError } from '../errors.ts';
import { falAddresses, falRefusal, falStatus, newLines } from './fal.ts';
import type { Links } from './views.ts';

const links: Links = {
  baseUrl: 'https://gateway.test/api/v1',
  secret: Buffer.alloc(32),
  outputTtlSeconds: 60,
  isPublic: true,
};

describe('the addresses of a request', () => {
  const apps: [model: string, app: string][] = [
    ['sandbox', 'sandbox'],
    ['fal-ai/flux', 'fal-ai/flux'],
    ['fal-ai/flux/dev/image-to-image', 'fal-ai/flux'],
    ['workflows/somebody/name/more', 'workflows/somebody/name'],
    ['comfy/somebody/name', 'comfy/somebody/name'],
    ['comfyui/sdxl/edit', 'comfyui/sdxl'],
  ];
  for (const [model, app] of apps) {
    test(`of ${model} name ${app}`, () => {
      const base = `https://gateway.test/api/fal/queue.fal.run/${app}/requests/7`;
      assert.deepEqual(falAddresses('7', model, links), {
        response_url: base,
        status_url: `${base}/status`,
        cancel_url: `${base}/cancel`,
      });
    });
  }
});

describe('the lines to show', () => {
  const cases: [string, string[], string[], string[]][] = [
    ['all at first', [], ['a', 'b'], ['a', 'b']],
    ['none where none came', ['a', 'b'], ['a', 'b'], []],
    ['those behind the ones that were shown', ['a', 'b'], ['a', 'b', 'c'], ['c']],
    ['those behind them where the oldest are gone', ['a', 'b', 'c'], ['b', 'c', 'd'], ['d']],
    ['all where none is known', ['a'], ['x', 'y'], ['x', 'y']],
    ['one that repeats the last', ['a', 'b'], ['a', 'b', 'b'], ['b']],
    ['none once there are none', ['a'], [], []],
  ];
  for (const [name, shown, now, expected] of cases) {
    test(`are ${name}`, () => assert.deepEqual(newLines(shown, now), expected));
  }
});

test('the time of a run is told in seconds, and lines bear the time of its start', () => {
  const told = falStatus(
    {
      request_id: '7',
      model_id: 'a/b',
      status: 'COMPLETED',
      created_at: new Date('2026-03-01T12:00:00.000Z'),
      started_at: new Date('2026-03-01T12:00:01.250Z'),
      completed_at: new Date('2026-03-01T12:00:03.900Z'),
      status_url: '',
      response_url: '',
      cancel_url: '',
      metrics: { queue_ms: 1_250, run_ms: 2_650 },
    },
    ['painting'],
    links,
  );
  assert.deepEqual(told.metrics, { inference_time: 2.65 });
  const timestamp = new Date('2026-03-01T12:00:01.250Z');
  assert.deepEqual(told.logs, [{ message: 'painting', level: 'INFO', source: 'USER', timestamp }]);
});

test('a fault deep in an input is led to by names, and by figures in lists', () => {
  const errors = [{ path: '/loras/0/a~1b', message: 'is required' }];
  const { status, body } = falRefusal(new ApiError('invalid_input', { details: { errors } }));
  assert.equal(status, 422);
  assert.deepEqual(body.detail, [
    { loc: ['body', 'loras', 0, 'a/b'], msg: 'is required', type: 'invalid_input' },
  ]);
});

describe('a result that is refused', () => {
  const message = 'as the upstream said';
  const failed = (code: string) => ({ status: 'FAILED', error: { code, message } });
  const cases: [what: string, details: Record<string, unknown>, status: number, detail: unknown][] =
    [
      [
        'is the fault of what was asked',
        failed('upstream_rejected'),
        422,
        [{ loc: ['body'], msg: message, type: 'upstream_rejected' }],
      ],
      ['is no fault of what was asked', failed('upstream_failed'), 500, message],
      ['was cancelled', { status: 'CANCELLED' }, 499, 'not yet'],
      ['is not there yet', { status: 'IN_QUEUE' }, 400, 'not yet'],
    ];
  for (const [what, details, status, detail] of cases) {
    test(what, () => {
      const told = falRefusal(new ApiError('request_not_ready', { message: 'not yet', details }));
      assert.deepEqual([told.status, told.body.detail], [status, detail]);
    });
  }
});
