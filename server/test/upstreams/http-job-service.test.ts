import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer, Call } from './fakes/kit.ts';
import { jobFor, open, openPlain, started } from './http-job-kit.ts';
import { fileOf, looksOf, signal } from './job-kit.ts';
import { rig as kie } from './rigs/kie.ts';
import { rig as wavespeed } from './rigs/wavespeed.ts';

const made: Answer = { status: 201, json: { id: 'job-1', status: 'queued' } };

describe('the ways to show the key', () => {
  const ways: [unknown, Record<string, string>, string][] = [
    ['bearer', { authorization: 'Bearer plain-key' }, '/jobs'],
    ['key', { authorization: 'Key plain-key' }, '/jobs'],
    [{ header: 'X-Api-Key' }, { 'x-api-key': 'plain-key' }, '/jobs'],
    [{ query: 'token' }, {}, '/jobs?token=plain-key'],
  ];
  for (const [auth, headers, path] of ways)
    test(JSON.stringify(auth), async (t) => {
      const { service, calls } = await openPlain(t, { auth }, () => made);
      await started(service);
      assert.equal(calls[0]!.path, path);
      assert.partialDeepStrictEqual(calls[0]!.headers, headers);
      if (!('authorization' in headers)) assert.equal(calls[0]!.headers.authorization, undefined);
    });

  test('without a key none is shown', async (t) => {
    const { service, calls } = await openPlain(t, {}, () => made, { key: null });
    await started(service);
    assert.equal(calls[0]!.headers.authorization, undefined);
  });

  test('a key in the query stays out of messages', async (t) => {
    const answer = (): Answer => ({
      status: 400,
      json: { error: 'bad token plain-key at https://x.test/?token=plain-key' },
    });
    const { service } = await openPlain(t, { auth: { query: 'token' } }, answer);
    const outcome = await service.start(jobFor());
    assert.deepEqual(outcome, { outcome: 'rejected', message: 'bad token … at (an address)' });
  });
});

describe('class A', () => {
  test('the key of the request goes out under the header’s name', async (t) => {
    const { service, calls } = await openPlain(
      t,
      { idempotency_header: 'Idempotency-Key' },
      () => made,
    );
    await started(service);
    assert.equal(service.class, 'A');
    assert.equal(calls[0]!.headers['idempotency-key'], 'key-1');
  });
});

describe('class B', () => {
  const options = {
    submit: { path: '/run', body: [{ '...': '$input', task: '$idempotency_key' }] },
    id: '$idempotency_key',
    poll: { path: '/run', method: 'POST', body: [{ kind: 'get', task: '$id' }] },
    status: 'data[0].status',
    outputs: ['data[].url'],
  };
  const known = new Set<string>();
  const answer = ({ json }: Call): Answer => {
    const [{ kind, task }] = json();
    if (kind !== 'get') known.add(task);
    if (!known.has(task)) return { status: 404, json: { message: 'no such task' } };
    return { json: { data: [{ status: 'success', url: `https://cdn.test/${task}.mp4` }] } };
  };

  test('a job that goes by our key is looked up, or surely not there', async (t) => {
    const { service, calls } = await openPlain(t, options, answer);
    assert.equal(service.class, 'B');
    assert.equal(await service.find!('key-1', signal), null);
    const handle = await started(service);
    assert.deepEqual(calls[1]!.json, [{ prompt: 'a lighthouse', task: 'key-1' }]);
    assert.deepEqual(await service.find!('key-1', signal), { id: 'key-1' });
    const { last } = await looksOf(service, handle);
    assert.ok(last?.state === 'done');
    assert.deepEqual(last.result.media, [
      { field: null, source: { url: 'https://cdn.test/key-1.mp4' } },
    ]);
  });

  test('a look-up that failed proves nothing', async (t) => {
    const { service } = await openPlain(t, options, () => ({ status: 503, json: {} }));
    await assert.rejects(service.find!('key-1', signal), /answered with/);
    for (const empty of [{ json: {} }, { json: { data: null } }, { status: 204, body: '' }]) {
      const { service } = await openPlain(t, options, () => empty);
      await assert.rejects(service.find!('key-1', signal), /no state/);
    }
  });
});

describe('an id', () => {
  for (const id of [undefined, '', '..', 'a b', 'x'.repeat(400), { a: 1 }])
    test(`that is ${JSON.stringify(id)?.slice(0, 20)} makes the answer unknown`, async (t) => {
      const { service } = await openPlain(t, {}, () => ({ json: { id } }));
      const outcome = await service.start(jobFor());
      const message = 'its answer has no job id';
      assert.deepEqual(outcome, { outcome: 'unknown', message, answer: 'unreadable' });
    });

  test('that is a number is accepted', async (t) => {
    const { service } = await openPlain(t, {}, () => ({ json: { id: 42 } }));
    assert.deepEqual(await started(service), { id: '42' });
  });
});

test('a model whose name climbs out of the path is not asked for', async (t) => {
  const submit = { path: '/{model}', body: '$input' };
  const { service, calls } = await openPlain(t, { submit }, () => made);
  const outcome = await service.start(jobFor({ model: '../balance/withdraw' }));
  assert.partialDeepStrictEqual(outcome, { outcome: 'not_accepted', why: 'model' });
  assert.equal(calls.length, 0);
});

describe('the address to poll', () => {
  const options = { poll: { address: 'urls.get' } };
  const done: Answer = { json: { status: 'done', outputs: [] } };

  test('of the same origin is used as it is', async (t) => {
    const { service, calls, url } = await openPlain(t, options, (call, base) =>
      call.method === 'POST' ? { json: { id: 'j', urls: { get: `${base}/look/j?x=1` } } } : done,
    );
    const handle = await started(service);
    assert.equal(handle.address, `${url}/look/j?x=1`);
    await service.poll(handle, signal);
    assert.equal(calls[1]!.path, '/look/j?x=1');
  });

  for (const get of [
    'https://evil.test/look',
    'file:///etc/passwd',
    '//evil.test/x',
    'http://[',
    7,
  ])
    test(`${get} would get our key, so it is not polled`, async (t) => {
      const { service, calls } = await openPlain(t, options, () => ({
        json: { id: 'j', urls: { get } },
      }));
      const outcome = await service.start(jobFor());
      assert.equal(outcome.outcome, 'unknown');
      assert.equal(calls.length, 1);
    });

  test('that was stored for another origin is not polled', async (t) => {
    const { service, calls } = await openPlain(t, options, () => done);
    const handle = { id: 'j', address: 'https://evil.test/look' };
    await assert.rejects(service.poll(handle, signal), /leads to another host now/);
    assert.equal(calls.length, 0);
  });
});

describe('cancel', () => {
  const options = { cancel: { path: '/jobs/{id}/cancel', method: 'PUT', body: { id: '$id' } } };

  test('is sent once, and fails without a clear answer', async (t) => {
    const { service, calls } = await openPlain(t, options, () => ({ status: 500, json: {} }));
    await assert.rejects(service.cancel!({ id: 'job-1' }, signal), /answered with 500/);
    assert.deepEqual(
      calls.map(({ method, path, json }) => ({ method, path, json })),
      [{ method: 'PUT', path: '/jobs/job-1/cancel', json: { id: 'job-1' } }],
    );
    await assert.rejects(service.cancel!({ id: 'job-1' }, AbortSignal.abort()));
    assert.equal(calls.length, 1);
  });

  const answers: [what: string, status: number, json: object, isTaken: boolean][] = [
    ['200', 200, { code: 200 }, true],
    ['404', 404, {}, true],
    ['409, because it is over', 409, {}, true],
    ['a code for too late', 200, { code: 422 }, true],
    ['a code for a bad key', 200, { code: 401 }, false],
    ['a code that means nothing', 200, { code: 599 }, false],
    ['429', 429, {}, false],
  ];
  for (const [what, status, json, isTaken] of answers)
    test(`answered with ${what} is ${isTaken ? 'over' : 'to be repeated'}`, async (t) => {
      const codes = { path: 'code', is: [200, null], else: { 401: 'credential', 422: 'rejected' } };
      const { service } = await openPlain(t, { ...options, ok_when: codes }, () => ({
        status,
        json,
      }));
      const call = service.cancel!({ id: 'job-1' }, signal);
      await (isTaken ? call : assert.rejects(call));
    });

  test('is missing if the service has none', async (t) => {
    const { service } = await openPlain(t, {}, () => made);
    assert.equal(service.cancel, undefined);
  });
});

describe('a reply to a poll', () => {
  const look = async (t: import('node:test').TestContext, changes: object, json: unknown) => {
    const { service } = await openPlain(t, { ...changes }, () => ({ json }));
    return service.poll({ id: 'j' }, signal);
  };

  test('gives texts, counts and costs if the options say so', async (t) => {
    const changes = {
      fields: { seed: 'seed', text: 'words' },
      quantity: 'units',
      cost_usd: 'cost',
    };
    const json = {
      status: 'DONE',
      outputs: ['https://c.test/a'],
      seed: 7,
      words: 'hi',
      units: 4,
      cost: '0.0123456',
    };
    assert.deepEqual(await look(t, changes, json), {
      state: 'done',
      result: {
        media: [{ field: null, source: { url: 'https://c.test/a' } }],
        fields: { seed: 7, text: 'hi' },
        quantity: 4,
        cost_usd_micro: 12_346n,
      },
    });
  });

  test('a progress is a part of one, or per cent', async (t) => {
    const changes = { progress: 'done' };
    const told = await look(t, changes, { status: 'busy', done: 40 });
    assert.deepEqual(told, { state: 'running', progress: 0.4 });
    assert.deepEqual(await look(t, changes, { status: 'busy', done: 0.4 }), told);
  });

  const progress: [what: string, done: unknown, of: number | undefined, progress?: number][] = [
    ['a text with a %', '45%', undefined, 0.45],
    ['a text with a blank before the %', ' 0.5 %', undefined, 0.005],
    ['more than all', 150, undefined, 1],
    ['less than nothing', -5, undefined, 0],
    ['1 of 100', 1, 100, 0.01],
    ['5 of 20 steps', '5', 20, 0.25],
    ['per cent, whatever the whole is', '50%', 20, 0.5],
    ['a part', '45/100', undefined, 0.45],
    ['a part in words', 'Step 3 of 12', 100, 0.25],
    ['a % after a part', 'step 3/4 (30%)', undefined, 0.3],
    ['a comma', '0,45', undefined, 0.45],
    ['a part of nothing', '0/0', undefined],
    ['a date', '11/30/2026', undefined],
    ['words', 'almost', undefined],
    ['nothing', '', 100],
  ];
  for (const [what, done, progress_of, expected] of progress)
    test(`a progress of ${what}`, async (t) => {
      const changes = { progress: 'done', ...(progress_of && { progress_of }) };
      const told = await look(t, changes, { status: 'busy', done });
      const shown = expected === undefined ? {} : { progress: expected };
      assert.deepEqual(told, { state: 'running', ...shown });
    });

  for (const [word, state] of [
    ['succeed', 'done'],
    ['TASK_STATUS_SUCCEED', 'done'],
    ['Generated', 'done'],
    ['Request Moderated', 'failed'],
    ['TASK_STATUS_FAILED', 'failed'],
    ['cancel', 'stopped'],
    ['TERMINATED', 'stopped'],
    ['submitted', 'running'],
    ['TEXT_SUCCESS', 'running'],
  ])
    test(`the word ${word} means ${state}`, async (t) => {
      const json = { status: word, outputs: ['https://c.test/a.png'] };
      assert.equal((await look(t, {}, json)).state, state);
    });

  test('says what a stopped job was billed', async (t) => {
    const changes = { words: { halted: 'stopped' }, quantity: 'units', cost_usd: 'cost' };
    const state = await look(t, changes, { status: 'Halted', units: '1.5', cost: 0.002 });
    assert.partialDeepStrictEqual(state, {
      state: 'stopped',
      quantity: 1.5,
      cost_usd_micro: 2000n,
    });
  });

  test('true and false may be states', async (t) => {
    const changes = { status: 'done', words: { true: 'done', false: 'running' } };
    assert.deepEqual(await look(t, changes, { done: false }), { state: 'running' });
    const state = await look(t, changes, { done: true, outputs: 'https://c.test/a.png' });
    assert.equal(state.state, 'done');
  });

  test('an output that is not an address is ignored', async (t) => {
    for (const outputs of ['ftp://x.test/a.png', 'javascript:alert(1)', 7, {}, ['', null]])
      assert.partialDeepStrictEqual(await look(t, {}, { status: 'done', outputs }), {
        state: 'failed',
        code: 'upstream_failed',
      });
  });

  test('several addresses in one text are several outputs', async (t) => {
    const all = ['https://c.test/a.png', 'https://c.test/b.png'];
    for (const outputs of [all.join(','), all.join(' ; '), JSON.stringify(all)]) {
      const told = await look(t, {}, { status: 'done', outputs });
      assert.ok(told.state === 'done', outputs);
      assert.deepEqual(
        told.result.media.map(({ source }) => 'url' in source && source.url),
        all,
      );
    }
  });

  test('done without an output says why, if the service does', async (t) => {
    for (const [error, message] of [
      [{ message: 'blocked' }, 'blocked'],
      ['success', 'The model returned no output.'],
    ]) {
      const told = await look(t, { error: 'error' }, { status: 'done', outputs: [], error });
      assert.deepEqual(told, { state: 'failed', code: 'upstream_failed', message });
    }
  });

  test('what comes along with an output keeps its own name', async (t) => {
    const outputs = { imageUrl: 'https://c.test/a', thumbnailUrl: 'https://c.test/b.png' };
    const told = await look(t, {}, { status: 'done', outputs });
    assert.ok(told.state === 'done');
    const names = told.result.media.map(({ field }) => field);
    assert.deepEqual(names, [null, 'thumbnailUrl']);
  });

  test('a code of the service may blame the input', async (t) => {
    const rejected_when = { code: 'error.code', is: [1027, 'unsafe'] };
    const changes = { error: 'error', rejected_when };
    for (const [code, expected] of [
      [1027, 'upstream_rejected'],
      ['unsafe', 'upstream_rejected'],
      [5, 'upstream_failed'],
    ])
      assert.deepEqual(
        await look(t, changes, { status: 'failed', error: { code, message: 'no\n good' } }),
        { state: 'failed', code: expected, message: 'no good' },
      );
  });

  for (const [status, state] of [
    [404, 'missing'],
    [410, 'missing'],
    [422, 'missing'],
    [408, 'threw'],
    [409, 'threw'],
    [425, 'threw'],
    [401, 'threw'],
    [302, 'threw'],
  ] as const)
    test(`${status}: ${state}`, async (t) => {
      const { service } = await openPlain(t, {}, () => ({ status, json: {} }));
      const { words } = await looksOf(service, { id: 'j' }, 1);
      assert.ok(words[0]!.startsWith(state), words[0]);
    });
});

describe('a code that the options name', () => {
  const ok_when = { path: 'error.code', is: [null], else: { broke: 'account', nsfw: 'rejected' } };

  test('decides before the status does', async (t) => {
    const { service } = await openPlain(t, { ok_when }, () => ({
      status: 400,
      json: { error: { code: 'broke', message: 'top up' } },
    }));
    const outcome = await service.start(jobFor());
    assert.deepEqual(outcome, { outcome: 'not_accepted', why: 'account', message: 'top up' });
  });

  test('another code in a 200 is unknown, and no code at all is success', async (t) => {
    const answers: Answer[] = [
      { json: { id: 'j', error: { code: 'odd' } } },
      { json: { id: 'j' } },
    ];
    const { service } = await openPlain(t, { ok_when }, () => answers.shift()!);
    assert.equal((await service.start(jobFor())).outcome, 'unknown');
    assert.equal((await service.start(jobFor())).outcome, 'accepted');
  });
});

describe('files', () => {
  const bytes = Buffer.from('the bytes of a picture');
  const input = { prompt: 'x', image_urls: ['file_a', 'https://example.com/b.png', 'file_a'] };
  const files = { file_a: fileOf(bytes, { link: 'https://gateway.test/f/a' }) };

  for (const rig of [kie, wavespeed])
    test(`${rig.name}: an own file goes to its storage, once; a public address stays`, async (t) => {
      const { fake, service } = await open(t, rig);
      const model = rig === kie ? 'google/nano-banana' : 'bytedance/seedream-v4/edit';
      await started(service, { model, input, files });
      assert.equal(fake.files.size, 1);
      const [[name, stored]] = [...fake.files] as [[string, Buffer]];
      assert.deepEqual(stored, bytes);
      assert.match(name, /^[0-9a-f-]{36}\.png$/);
      const sent = fake.journal[0]!.input.image_urls as string[];
      assert.ok(sent[0]!.startsWith(fake.url) && sent[0]!.endsWith(name));
      assert.deepEqual(sent.slice(1), ['https://example.com/b.png', sent[0]]);
    });

  test('an upload that fails makes no job, so it may be tried again', async (t) => {
    const options = { files: { upload: { path: '/up', reply: 'url', max_bytes: 30 } } };
    const cases: [Answer, object][] = [
      [{ cutAfter: 0 }, { outcome: 'not_accepted', why: 'lost' }],
      [
        { status: 500, json: {} },
        { outcome: 'not_accepted', why: 'busy' },
      ],
      [
        { status: 401, json: {} },
        { outcome: 'not_accepted', why: 'credential' },
      ],
      [{ json: {} }, { outcome: 'not_accepted', why: 'busy' }],
      [
        { status: 415, json: { error: 'no gifs' } },
        { outcome: 'rejected', message: 'no gifs', unasked: true },
      ],
    ];
    for (const [answer, expected] of cases) {
      const { service, calls } = await openPlain(t, options, () => answer);
      const outcome = await service.start(jobFor({ input, files }));
      assert.partialDeepStrictEqual(outcome, expected);
      assert.deepEqual(
        calls.map(({ path }) => path),
        ['/up'],
      );
    }
  });

  test('too large a file is refused before anything is sent', async (t) => {
    for (const how of [
      { upload: { path: '/up', reply: 'url', max_bytes: 5 } },
      { data_uri_max_bytes: 5 },
    ]) {
      const { service, calls } = await openPlain(t, { files: how }, () => made);
      const outcome = await service.start(jobFor({ input, files }));
      assert.partialDeepStrictEqual(outcome, { outcome: 'rejected' });
      assert.match(
        (outcome as { message: string }).message,
        /image_urls is larger than the 5 bytes/,
      );
      assert.equal(calls.length, 0);
    }
  });

  test('small ones travel inline, larger ones as a link', async (t) => {
    const how = { files: { data_uri_max_bytes: 30, link: true } };
    const { service, calls } = await openPlain(t, how, () => made);
    const large = fileOf(Buffer.alloc(31), { link: 'https://gateway.test/f/b' });
    const both = { image_url: 'file_a', mask_url: 'file_b' };
    await started(service, { input: both, files: { ...files, file_b: large } });
    assert.deepEqual(calls[0]!.json.input, {
      image_url: `data:image/png;base64,${bytes.toString('base64')}`,
      mask_url: 'https://gateway.test/f/b',
    });
  });

  test('without any way the caller gets an error that says what works', async (t) => {
    const { service, calls } = await openPlain(t, {}, () => made);
    const outcome = await service.start(jobFor({ input, files: { file_a: fileOf(bytes) } }));
    const message = 'image_urls must be a public https address for this model.';
    assert.deepEqual(outcome, { outcome: 'rejected', message, unasked: true });
    assert.equal(calls.length, 0);
  });
});
