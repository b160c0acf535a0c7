/** Tests the check of every reply in all tests. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkReply, findOperation } from './openapi.ts';

describe('checkReply', () => {
  const id = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
  const rate = {
    'ratelimit-policy': '"calls";q=600;w=60',
    ratelimit: '"calls";r=9;t=3',
    'ratelimit-limit': '600',
    'ratelimit-remaining': '9',
    'ratelimit-reset': '3',
  };
  const json = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'req_1' };
  const good = { request_id: id, status: 'CANCELLED' };
  const cancelPath = `/v1/requests/${id}/cancel`;
  const error = (code: string) => ({
    error: { code, message: 'No.', type: 'conflict_error', param: null, request_id: 'req_1' },
  });

  test('finds the operation, whatever a model id holds', () => {
    const at = (method: string, path: string) => {
      const found = findOperation(method, path);
      return typeof found === 'string' ? found : found.operation.operationId;
    };
    assert.equal(at('POST', '/v1/queue/a/b/c'), 'submit');
    assert.equal(at('GET', 'http://127.0.0.1:1/v1/models/a/b?x=1'), 'readModel');
    assert.equal(at('GET', '/v1/models'), 'listModels');
    assert.equal(at('HEAD', `/v1/requests/${id}/output/0?exp=1&sig=x`), 'readOutput');
    assert.equal(at('PUT', cancelPath), 'cancelPut');
    assert.equal(at('GET', '/livez'), 'livez');
    assert.equal(at('GET', '/v1/livez'), 'No route');
    assert.equal(at('GET', '/models'), 'No route');
    assert.equal(at('DELETE', cancelPath), 'No method');
  });

  test('lets through what the document says', () => {
    checkReply('POST', cancelPath, 200, { ...json, ...rate }, good);
    checkReply('POST', cancelPath, 200, new Headers({ ...json, ...rate }), JSON.stringify(good));
    checkReply(
      'POST',
      cancelPath,
      409,
      { ...json, ...rate, 'x-should-retry': 'false' },
      error('not_cancellable'),
    );
    checkReply(
      'PATCH',
      cancelPath,
      405,
      { ...json, allow: 'POST, PUT' },
      error('method_not_allowed'),
    );
    checkReply('GET', '/v1/nothing', 404, json, error('not_found'));
    checkReply('HEAD', `/v1/requests/${id}`, 200, { ...json, ...rate }, '');
    const stream = {
      ...rate,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-request-id': 'r',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    };
    const end = 'event: end\ndata: {"reason":"draining","message":"Again."}\n\n: keep-alive\n\n';
    checkReply('GET', `/v1/requests/${id}/status/stream`, 200, stream, `${end}event: sta`);
  });

  const refused: [string, () => void, RegExp][] = [
    [
      'a header that is not documented',
      () => checkReply('POST', cancelPath, 200, { ...json, ...rate, 'x-more': '1' }, good),
      /headers that are not in the document/,
    ],
    [
      'a status that is not documented',
      () => checkReply('POST', cancelPath, 418, json, {}),
      /418 is not documented of cancel/,
    ],
    [
      'a field that is not documented',
      () => checkReply('POST', cancelPath, 200, { ...json, ...rate }, { ...good, more: 1 }),
      /the field \/more/,
    ],
    [
      'a body that does not fit',
      () => checkReply('POST', cancelPath, 200, { ...json, ...rate }, { request_id: id }),
      /status/,
    ],
    [
      'a header that is missing',
      () => checkReply('POST', cancelPath, 200, json, good),
      /RateLimit-Policy is missing/,
    ],
    [
      'a header of a wrong form',
      () =>
        checkReply('POST', cancelPath, 200, { ...json, ...rate, 'ratelimit-reset': 'soon' }, good),
      /RateLimit-Reset: soon/,
    ],
    [
      'no request id',
      () =>
        checkReply(
          'GET',
          '/livez',
          200,
          { 'content-type': 'application/json', 'cache-control': 'x' },
          { status: 'ok' },
        ),
      /x-request-id is missing/,
    ],
    [
      'a code that belongs elsewhere',
      () =>
        checkReply(
          'POST',
          cancelPath,
          409,
          { ...json, 'x-should-retry': 'false' },
          error('idempotency_conflict'),
        ),
      /idempotency_conflict is not documented here/,
    ],
    [
      'a code that nobody knows',
      () => checkReply('GET', '/v1/nothing', 404, json, error('gone')),
      /allowed values/,
    ],
    [
      'a content type that is not documented',
      () =>
        checkReply(
          'GET',
          '/livez',
          200,
          { ...json, 'content-type': 'text/html', 'cache-control': 'x' },
          '<p>',
        ),
      /"text\/html" is not documented/,
    ],
    [
      '405 where the method is documented',
      () => checkReply('POST', cancelPath, 405, json, error('method_not_allowed')),
      /has this method/,
    ],
    [
      '404 in place of 405',
      () => checkReply('PATCH', cancelPath, 404, json, error('not_found')),
      /No method/,
    ],
    [
      'success of a route that is not documented',
      () => checkReply('GET', '/v1/nothing', 200, json, {}),
      /No route/,
    ],
    [
      'an event that does not fit',
      () =>
        checkReply(
          'GET',
          `/v1/requests/${id}/status/stream`,
          200,
          {
            ...json,
            ...rate,
            'content-type': 'text/event-stream',
            'cache-control': 'no-store',
            'x-accel-buffering': 'no',
          },
          'data: {"status":1}\n\n',
        ),
      /an event/,
    ],
  ];
  for (const [what, check, message] of refused) {
    test(`refuses ${what}`, () => assert.throws(check, message));
  }
});
