/** A misspelt input is dropped, and the job is paid for: each way of calling says so. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { experimental_generateVideo, generateImage } from 'ai';
import * as bunny from 'mediabunny';
import { createFarebox } from '../src/ai.ts';
import { Farebox } from '../src/index.ts';
import { startService, type Service, type TestAccount } from '../../server/test/kit/service.ts';
import { film } from '../../server/test/storage/media-fixtures.ts';
import { aiCatalog } from './ai-kit.ts';
import { homeOf, well, type Home } from './cli/fare-kit.ts';
import { startAgent } from './cli/mcp/mcp-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService({ running: true, catalog: aiCatalog });
  account = await service.account();
  home = homeOf(service, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

const picture = 'ai/picture';
const right = { prompt: 'a cat' };
const misspelt = { ...right, num_imges: 1, zzz: 2 };
const unknown = [
  { field: 'num_imges', did_you_mean: 'num_images' },
  { field: 'zzz', did_you_mean: null },
];
const says = /num_imges is not an input of ai\/picture\. Did you mean num_images\?/;

describe('a misspelt input is named', () => {
  test('by the library, with the result', async () => {
    const farebox = new Farebox({ apiKey: account.key, baseUrl: `${service.base}/v1` });
    const job = await farebox.submit(picture, misspelt);
    assert.deepEqual(job.submitted!.unknown_inputs, unknown);
    assert.deepEqual((await job.result()).unknownInputs, unknown);
    assert.deepEqual((await farebox.run(picture, misspelt)).unknownInputs, unknown);
    assert.ok(!('unknownInputs' in (await farebox.run(picture, right))));
  });

  test("by the AI SDK's warnings, of pictures and of videos", async () => {
    const farebox = createFarebox({ apiKey: account.key, baseUrl: `${service.base}/v1` });
    const details = (model: string, field: string) =>
      `${model} has no input of this name. Did you mean ${field}?`;
    const made = await generateImage({
      model: farebox.image(picture),
      prompt: 'a cat',
      providerOptions: { farebox: { num_imges: 1 } },
    });
    const unsupported = { type: 'unsupported', feature: 'num_imges' };
    assert.deepEqual(made.warnings, [{ ...unsupported, details: details(picture, 'num_images') }]);

    const bytes = await film(new bunny.Mp4OutputFormat());
    const media = [{ field: 'video', source: { bytes } }];
    service.fake.behave.poll = () => ({ state: 'done', result: { media, fields: {} } });
    for (const poll of [undefined, { intervalMs: 5 }]) {
      const { warnings } = await experimental_generateVideo({
        model: farebox.video('ai/film'),
        prompt: 'a boat',
        ...(poll && { poll }),
        providerOptions: { farebox: { resolutoin: '480p' } },
      });
      const wrong = { type: 'unsupported', feature: 'resolutoin' };
      assert.deepEqual(warnings, [{ ...wrong, details: details('ai/film', 'resolution') }]);
    }
    service.fake.behave = {};
  });

  test('to an agent, with the price and with the result', async () => {
    const agent = await startAgent(service, account);
    try {
      const wish = { model_id: picture, input: misspelt };
      const starts = service.fake.starts.length;
      const refusal = await agent.refused('generate', wish);
      assert.equal(refusal.code, 'price_not_agreed');
      assert.match(refusal.message, says);
      assert.deepEqual(refusal.details.unknown_inputs, unknown);
      assert.equal(service.fake.starts.length, starts, 'it was made');
      const { fields } = await agent.use('generate', { ...wish, max_usd: 0.01 });
      assert.equal(fields.status, 'COMPLETED');
      assert.deepEqual(fields.unknown_inputs, unknown);
      assert.match(fields.message, says);
      const known = await agent.use('generate', { ...wish, input: right, max_usd: 0.01 });
      assert.ok(!('unknown_inputs' in known.fields));
    } finally {
      await agent.close();
    }
  });

  test('to the person whom an agent asks for the money', async () => {
    const agent = await startAgent(service, account, [], { answer: 'decline' });
    try {
      await agent.refused('generate', { model_id: picture, input: misspelt });
      assert.match(agent.asked[0]!, says);
    } finally {
      await agent.close();
    }
  });

  test('by fare run, quiet as well, and on stdout with --json', async () => {
    const call = ['run', picture, '--prompt', 'a cat', 'num_imges=1', '-q'];
    assert.match(well(await home.run(call)).stderr, says);
    const json = well(await home.run([...call, '--json']));
    assert.deepEqual(json.json.unknown_inputs, unknown.slice(0, 1));
    assert.match(json.stderr, says);
    const later = well(await home.run([...call, '--json', '--no-wait']));
    assert.deepEqual(later.json.unknown_inputs, unknown.slice(0, 1));
    const resumed = well(await home.run(['resume', later.json.request_id, '--json', '-q']));
    assert.deepEqual(resumed.json.unknown_inputs, unknown.slice(0, 1));
  });
});
