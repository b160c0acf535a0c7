import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { ApiError, ValidationError } from '@fal-ai/client';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { withService } from '../../kit/with-service.ts';
import { wake } from '../../kit/states.ts';
import { traces } from '../../kit/traces.ts';
import { falClient } from './fal-kit.ts';

/** The errors of fal's client after a refusal or a failed job: its classes, our messages. */

const { service, account } = withService();

const model = 'fake/image';
const input = { prompt: 'a lighthouse' };
const connect = (key = account.key) => falClient(service.base, key);

async function requests(): Promise<bigint> {
  const [row] = await service.db.run<{ n: bigint }>(rawSql('select count(*) as n from requests'));
  return row!.n;
}

async function thrown(call: Promise<unknown>): Promise<ApiError<any>> {
  const error = await call.then(
    () => assert.fail('it was not refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

describe('a submit that is refused', () => {
  const refusals: [string, () => Promise<unknown>, number, string, RegExp][] = [
    [
      'without a good key',
      () => connect('fbx_no').queue.submit(model, { input }),
      401,
      'unauthorized',
      /mistyped or incomplete/,
    ],
    [
      'for a model that is not in the catalog',
      () => connect().queue.submit('fake/none', { input }),
      404,
      'unknown_model',
      /fake\/none|No such model/,
    ],
    [
      'for a text model',
      () => connect().queue.submit('fake/chat', { input }),
      400,
      'use_chat_completions',
      /chat\/completions/,
    ],
    [
      'for an address of a notification that is not public',
      () => connect().queue.submit(model, { input, webhookUrl: 'http://10.0.0.1/hook' }),
      400,
      'bad_webhook_url',
      /public/,
    ],
    [
      'for a balance that is too small',
      async () =>
        connect((await service.account({ usd: 0.005 })).key).queue.submit(model, { input }),
      402,
      'insufficient_balance',
      /balance/,
    ],
    [
      "for the key's limit of the month",
      async () => {
        const limited = await service.account({ monthly_limit_usd_micro: 1n });
        return connect(limited.key).queue.submit(model, { input });
      },
      402,
      'key_limit_reached',
      /limit/,
    ],
  ];
  for (const [name, call, status, code, words] of refusals) {
    test(`${name} leaves nothing, and says ${status} ${code}`, async () => {
      const error = await thrown(call());
      assert.equal(error.status, status);
      assert.match(error.message, words);
      assert.equal(error.body.detail, error.message);
      assert.equal(error.body.error.code, code);
      assert.equal(error.body.error.message, error.message);
      assert.equal(await requests(), 0n);
    });
  }

  test('for its input names each field, as a ValidationError', async () => {
    const earlier = await traces(service);
    const wrong = { prompt: 7, image_url: 'no address' } as never;
    const error = await thrown(connect().queue.submit(model, { input: wrong }));
    assert.ok(error instanceof ValidationError);
    assert.equal(error.status, 422);
    assert.equal((error.body as any).error.code, 'invalid_input');
    const [fault] = error.getFieldErrors('prompt');
    assert.deepEqual(fault!.loc, ['body', 'prompt']);
    assert.match(fault!.msg, /string/);
    assert.deepEqual(await traces(service), earlier);
  });

  test('for a number that has no price names the field, as a ValidationError', async () => {
    const error = await thrown(
      connect().queue.submit(model, { input: { ...input, num_images: 5 } }),
    );
    assert.ok(error instanceof ValidationError);
    const [fault] = error.getFieldErrors('num_images');
    assert.equal(fault!.type, 'unpriceable');
    assert.equal(fault!.msg, error.message);
  });
});

describe('a job that fails', () => {
  const ends: [string, 'upstream_rejected' | 'upstream_failed', number][] = [
    ['since its model refused the input', 'upstream_rejected', 422],
    ['in its model', 'upstream_failed', 500],
  ];
  for (const [name, code, status] of ends) {
    test(`${name} is COMPLETED, its result throws the reason, and it costs nothing`, async () => {
      const earlier = await service.balance(account);
      const fal = connect();
      service.fake.behave = { poll: () => ({ state: 'failed', code, message: 'out of paint' }) };
      const { request_id: requestId } = await fal.queue.submit(model, { input });
      await service.work();
      await wake(service, requestId);
      await service.work();
      service.fake.behave = {};
      const told = (await fal.queue.status(model, { requestId })) as unknown as Record<
        string,
        unknown
      >;
      assert.equal(told.status, 'COMPLETED');
      assert.equal(told.error_type, code);
      assert.equal(told.error, 'out of paint');
      const error = await thrown(fal.queue.result(model, { requestId }));
      assert.deepEqual([error.status, error.message], [status, 'out of paint']);
      assert.equal(error.requestId, requestId);
      assert.equal(error instanceof ValidationError, status === 422);
      const { code: own, details } = error.body.error;
      assert.deepEqual(
        [own, details.status, details.error.code],
        ['request_not_ready', 'FAILED', code],
      );
      assert.deepEqual(await service.balance(account), earlier);
    });
  }

  test('is thrown by subscribe too', async () => {
    service.fake.behave = {
      start: () => ({ outcome: 'rejected', code: 'upstream_rejected', message: 'no lighthouses' }),
    };
    const error = await thrown(
      connect().subscribe(model, { input, pollInterval: 10, onEnqueue: () => void service.work() }),
    );
    service.fake.behave = {};
    assert.ok(error instanceof ValidationError);
    assert.equal(error.fieldErrors[0]!.msg, 'no lighthouses');
  });
});

describe('a call that comes too early, or about an unknown request', () => {
  test('a result before the end is refused with 400', async () => {
    const fal = connect();
    const { request_id: requestId } = await fal.queue.submit(model, { input });
    const error = await thrown(fal.queue.result(model, { requestId }));
    assert.deepEqual([error.status, error.body.error.code], [400, 'request_not_ready']);
  });

  test("another account's job is not found: it cannot be seen, fetched or cancelled", async () => {
    const { request_id: requestId } = await connect().queue.submit(model, { input });
    const other = connect((await service.account()).key);
    for (const call of ['status', 'result', 'cancel'] as const) {
      const error = await thrown(other.queue[call](model, { requestId }));
      assert.deepEqual([error.status, error.body.error.code], [404, 'not_found'], call);
    }
    const { status } = await connect().queue.status(model, { requestId });
    // Its start may have come in between.
    assert.match(status, /^IN_(QUEUE|PROGRESS)$/);
  });

  test('an id that no header can hold is not found', async () => {
    const error = await thrown(connect().queue.result(model, { requestId: 'a%0d%0ab' }));
    assert.equal(error.status, 404);
  });

  test('stream, which this door does not have, spends nothing and says what to use', async () => {
    const earlier = await traces(service);
    const stream = await connect().stream(model, { input });
    const error = await thrown(stream.done());
    assert.equal(error.status, 404);
    assert.match(error.message, /use subscribe/);
    assert.deepEqual(await traces(service), earlier);
  });

  test('a method that an address does not take is refused in the same shape', async () => {
    const { key } = account;
    const reply = await service.call('DELETE', '/fal/queue.fal.run/fake/image', { key });
    assert.equal(reply.status, 405);
    assert.equal(reply.body.detail, reply.body.error.message);
  });
});
