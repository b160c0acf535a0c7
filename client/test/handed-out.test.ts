import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withService } from '../../server/test/kit/with-service.ts';

/** The client that the service serves to callers. */

describe('GET /farebox-client.tgz', () => {
  const { service } = withService();

  test('is not sent again to a caller who has it already', async () => {
    const first = await service.call('GET', '/v1/farebox-client.tgz');
    const etag = first.headers.get('etag')!;
    assert.equal(first.status, 200);
    assert.equal(first.headers.get('content-type'), 'application/gzip');
    const again = { headers: { 'if-none-match': etag } };
    const second = await service.call('GET', '/v1/farebox-client.tgz', again);
    assert.deepEqual([second.status, second.text], [304, '']);
    const head = await service.call('HEAD', '/v1/farebox-client.tgz');
    assert.deepEqual(
      [head.status, head.text, Number(head.headers.get('content-length')) > 100_000],
      [200, '', true],
    );
  });
});
