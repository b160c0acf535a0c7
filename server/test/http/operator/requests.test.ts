/** One request of any account, as an operator sees it. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { completion, createFake } from '../../kit/fake.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';
import { age } from '../../worker/floor.ts';

let operator: Person;
const fake = createFake({ class: 'C' });
const { service, account } = withWebService(async () => ({ fake, account: { usd: 10 } }));
before(async () => {
  operator = await operatorOf(service);
});
afterEach(() => {
  fake.behave = {};
});

const ask = (path: string) => operator.call('GET', `/api/operator${path}`);
const look = async (path: string) => {
  const { status, body, text } = await ask(path);
  assert.equal(status, 200, text);
  return body;
};
const submit = async (body: object = {}) => {
  const call = { key: account.key, body: { prompt: 'a secret cat', ...body } };
  const reply = await service.call('POST', '/v1/queue/fake/image', call);
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id as string;
};
const listed = async (query: string) => {
  const page = await look(`/requests${query}&account_id=${account.account_id}`);
  return page.data.map(({ request_id }: { request_id: string }) => request_id);
};

test('a request shows account, money and starts, and neither input nor output', async () => {
  const id = await submit();
  await service.work();
  const { text, body } = await ask(`/requests/${id}`);
  assert.doesNotMatch(text, /secret cat|\/output\/|sig=/);
  const { email, status, quoted_usd_micro, charged_usd_micro, cost_usd_micro } = body;
  assert.deepEqual(
    [email, status, quoted_usd_micro, charged_usd_micro, cost_usd_micro, body.margin_usd_micro],
    [account.email, 'COMPLETED', '10000', '10000', '4000', '6000'],
  );
  assert.equal(body.key_id, account.key_id);
  assert.deepEqual([body.outputs_made, body.error_code, body.webhook], [1, null, null]);
  const [attempt, ...more] = body.attempts;
  assert.deepEqual([attempt.upstream, attempt.class, more.length], ['fake', 'C', 0]);
  assert.deepEqual(await look(`/requests/${id}/input`), { input: { prompt: 'a secret cat' } });
});

test('a chat shows its tokens, and an image none', async () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: 60 },
  };
  fake.behave.chat = () => ({ outcome: 'reply', reply: completion('hi', usage) });
  const messages = [{ role: 'user', content: 'a secret' }];
  const call = { key: account.key, body: { model: 'fake/chat', messages } };
  const { body } = await service.call('POST', '/v1/chat/completions', call);
  const { text, body: chat } = await ask(`/requests/${body.id.replace('chatcmpl-', '')}`);
  assert.deepEqual(chat.tokens, {
    input_tokens: 100,
    output_tokens: 10,
    cached_tokens: 60,
    reasoning_tokens: 0,
  });
  assert.doesNotMatch(text, /secret/);
  assert.equal((await look(`/requests/${await submit()}`)).tokens, null);
});

test('a request is refunded by an operator, in part, and its customer and the log see it', async () => {
  const id = await submit();
  await service.work();
  const before = (await service.balance(account)).available;
  const wanted = { amount_usd_micro: '3000', reference: `ticket ${id}`, reason: 'blurred' };
  const refund = (of: string, body: object) =>
    operator.call('POST', `/api/operator/requests/${of}/refunds`, body);
  const { status, body: booked } = await refund(id, wanted);
  assert.deepEqual([status, booked.request_id, booked.refunded_usd_micro], [201, id, '3000']);
  assert.deepEqual((await refund(id, wanted)).body, { ...booked, replayed: true });
  const more = await refund(id, { ...wanted, amount_usd_micro: '7001', reference: 'more' });
  const { code, details } = more.body.error;
  assert.deepEqual(
    [more.status, code, details.reason, details.left_usd_micro],
    [400, 'bad_request', 'refund_beyond_charge', '7000'],
  );
  assert.equal((await refund(newId(), wanted)).status, 404);
  assert.equal((await service.balance(account)).available - before, 3_000n);
  const seen = await look(`/requests/${id}`);
  assert.deepEqual(
    [seen.charged_usd_micro, seen.refunded_usd_micro, seen.margin_usd_micro],
    ['10000', '3000', '3000'],
  );
  const owner = (await person(service, { [account.account_id]: 'owner' })).of(account.account_id);
  const own = (await owner.call('GET', `/requests/${id}`)).body;
  assert.deepEqual([own.charged_usd_micro, own.refunded_usd_micro], ['10000', '3000']);
  const [line] = (await owner.call('GET', '/statement?limit=1')).body.data;
  assert.deepEqual([line.source, line.request_id, line.reason], ['refund', id, 'blurred']);
  const { data } = await look('/log?action=request.refund');
  assert.deepEqual(
    data.map((row: { target: string }) => row.target),
    [id],
  );
  await service.audit();
});

test('a failed request shows its cause, which the customer does not see', async () => {
  fake.behave.start = () => ({ outcome: 'accepted', handle: {} });
  fake.behave.poll = () => ({ state: 'missing', message: 'their own words' });
  const id = await submit();
  for (let i = 0; i < 5; i++) {
    await service.db.run(rawSql('update requests set wake_at = now() where id = $1', [id]));
    await service.work();
    await age(service, id);
  }
  const body = await look(`/requests/${id}`);
  assert.deepEqual(
    [body.error_code, body.error_cause, body.error.message],
    ['upstream_failed', 'their own words', 'The model lost the job.'],
  );
  const owner = await person(service, { [account.account_id]: 'owner' });
  const seen = [
    await owner.of(account.account_id).call('GET', `/requests/${id}`),
    await account.get(`/v1/requests/${id}`),
  ];
  for (const { status, text } of seen) {
    assert.equal(status, 200);
    assert.ok(!text.includes('their own words'), text);
  }
});

test('a webhook shows its host and answers, and no path or query', async () => {
  const id = await submit();
  await service.work();
  await service.db.run(
    rawSql(
      `with i as (update request_inputs set webhook_url = 'https://hooks.example/pass?word=1'
         where request_id = $1), r as (update requests set webhook_state = 'failed' where id = $1)
       insert into webhook_deliveries (id, request_id, attempt, account_id, url, status, error,
         duration_ms)
       values (gen_random_uuid(), $1, 1, $2, 'https://hooks.example/pass?word=1', 500, 'busy', 12)`,
      [id, account.account_id],
    ),
  );
  const { text, body } = await ask(`/requests/${id}`);
  assert.deepEqual(body.webhook, { url: 'https://hooks.example', state: 'failed' });
  const [{ at: _at, ...sent }] = body.deliveries;
  assert.deepEqual(sent, { cause: 'final', status: 500, error: 'busy', duration_ms: 12 });
  assert.ok(!text.includes('word=1'));
});

test('deleted data shows when it was deleted', async () => {
  const id = await submit();
  await service.work();
  await service.db.run(
    rawSql(
      `with o as (delete from outputs where request_id = $1)
       update requests set cleared_at = now(), wake_at = null, expires_at = null where id = $1`,
      [id],
    ),
  );
  assert.notEqual((await look(`/requests/${id}`)).cleared_at, null);
  assert.deepEqual(await look(`/requests/${id}/input`), { input: null });
});

test('requests are listed by status, a page after the other', async () => {
  const waiting = [await submit(), await submit(), await submit()];
  const query = '?status=IN_QUEUE';
  assert.deepEqual(await listed(query), waiting.toReversed());
  const first = await look(`/requests${query}&account_id=${account.account_id}&limit=2`);
  assert.equal(first.data.length, 2);
  assert.deepEqual(await listed(`${query}&limit=2&cursor=${first.next_cursor}`), [waiting[0]]);
  await service.work();
  assert.deepEqual(await listed(query), []);
  assert.equal((await listed('?status=FAILED')).length, 1);
  const { status } = await ask(`/requests?account_id=${account.account_id}&status=LOST`);
  assert.equal(status, 400);
});

test('an unknown id is not found, and people who are not operators find no request', async () => {
  const id = await submit();
  const owner = await person(service, { [account.account_id]: 'owner' });
  for (const path of [`/requests/${id}`, `/requests/${id}/input`]) {
    assert.equal((await owner.call('GET', `/api/operator${path}`)).status, 404);
    assert.equal((await ask(path.replace(id, account.account_id))).status, 404);
    assert.equal((await ask(path.replace(id, 'x'))).status, 404);
  }
});

test('requests are found by their problem and their kind, and exported with their cost', async () => {
  const well = await submit();
  await service.work();
  const failing = async (outcome: object) => {
    fake.behave = { start: () => outcome as never };
    const id = await submit();
    await service.work();
    fake.behave = {};
    return id;
  };
  const refused = await failing({ outcome: 'rejected', message: 'no' });
  const since = `&from=${new Date(Date.now() - 3_600_000).toISOString()}`;
  assert.deepEqual(await listed(`?error_code=upstream_rejected${since}`), [refused]);
  assert.deepEqual(await listed(`?error_code=timeout${since}`), []);
  assert.deepEqual(await listed(`?error_code=upstream_rejected&status=COMPLETED`), []);
  assert.deepEqual(await listed('?kind=video'), []);
  assert.ok((await listed('?kind=image&limit=100')).includes(well));
  const unknown = await ask('/requests?error_code=no_such_code');
  assert.equal(unknown.status, 400);
  assert.match(unknown.body.error.message, /upstream_rejected/);

  const query = `?account_id=${account.account_id}`;
  const { status, headers, text } = await ask(`/requests/export${query}`);
  assert.equal(status, 200);
  assert.match(headers.get('content-type')!, /^text\/csv/);
  assert.match(headers.get('content-disposition')!, /attachment; filename="farebox-requests.csv"/);
  const [head, ...lines] = text.trimEnd().split('\r\n');
  assert.match(head!, /^"request_id","created_utc",.*"margin_usd","call_id","caller_id"$/);
  assert.equal(lines.length, (await listed('?limit=100')).length);
  const line = lines.find((each) => each.includes(well))!;
  assert.match(
    line,
    new RegExp(`"${account.email}".*"COMPLETED",,0\\.01,0\\.01,0,0\\.004,0\\.006,`),
  );
  assert.ok(lines.find((each) => each.includes(refused))!.includes('"upstream_rejected"'));
  assert.doesNotMatch(text, /secret cat/);
  const some = await ask(`/requests/export${query}&error_code=upstream_rejected`);
  assert.ok(some.text.includes(refused) && !some.text.includes(well));
  assert.equal((await ask('/requests/export?limit=5')).status, 400);
});
