import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fal } from '@fal-ai/client';
import { startService } from '../../kit/service.ts';

test('the code on the page about fal, as it stands, brings a job to its picture', async (t) => {
  const service = await startService({ running: true });
  t.after(() => service.stop());
  const { key } = await service.account();
  const page = readFileSync(new URL('../../../../docs/fal-client.md', import.meta.url), 'utf8');
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(page)!;
  const here = code
    .replace(/^import .*\n/, '')
    .replace('http://localhost:8080', service.base)
    .replace('sandbox/canvas/text-to-image', 'fake/image');
  const lines: string[] = [];
  const body = new Function('fal', 'process', 'console', `return (async () => {${here}})();`);
  const log = (line: string) => void lines.push(line);
  await body(fal, { env: { FAREBOX_API_KEY: key } }, { log });
  assert.equal(lines.at(-2), 'COMPLETED');
  assert.equal((await service.call('GET', lines.at(-1)!)).status, 200);
  const [job, ...others] = (await service.call('GET', '/v1/requests', { key })).body.data;
  assert.deepEqual([job.status, others], ['COMPLETED', []]);
});
