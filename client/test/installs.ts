import assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startService, type Service } from '../../server/test/kit/service.ts';
import { openSandbox, type OpenedSandbox } from '../../server/test/upstreams/sandbox-kit.ts';
import { installed, root, run, strict, tools } from './package-kit.ts';

/**
 * The packed client beside the oldest and the newest AI SDK that its peer dependencies allow, each
 * in its own project. The packages come from the registry, so only `npm run installs` runs this
 * file.
 */

const sdk = (ai: string, compatible: string, provider: string) => [
  `ai@${ai}`,
  `@ai-sdk/openai-compatible@${compatible}`,
  `@ai-sdk/provider@${provider}`,
];
const beside = {
  'ai 6, the lowest': sdk('6.0.0', '2.0.0', '3.0.0'),
  'ai 6, the newest': sdk('6', '2', '3'),
  'ai 7, the lowest': sdk('7.0.0', '3.0.0', '4.0.0'),
  'ai 7, the newest': sdk('7', '3', '4'),
};

let sandbox: OpenedSandbox;
let service: Service;
let env: Record<string, string>;
let unreachable: string | undefined;
before(async () => {
  const asked = await run('npm', ['view', 'ai', 'version', '--fetch-retries=0'], root);
  if (asked.code !== 0) {
    const why = asked.stderr.split('\n').find((line) => line.startsWith('npm error'));
    unreachable = `the package registry cannot be reached (${why})`;
    console.error(`NOT CHECKED: the peer dependencies of the client. Reason: ${unreachable}.`);
    return;
  }
  sandbox = await openSandbox();
  const catalog = readFileSync(path.join(root, 'catalog/sandbox.yaml'), 'utf8');
  service = await startService({ running: true, catalog, upstreams: [sandbox.sandbox] });
  const { key } = await service.account();
  env = { FAREBOX_API_KEY: key, FAREBOX_BASE_URL: `${service.base}/v1` };
});
after(async () => {
  await service?.audit();
  await service?.stop();
  await sandbox?.close();
});

for (const [name, packages] of Object.entries(beside)) {
  test(`${name}: installs, compiles under strict, makes text, an image and a video`, async (t) => {
    if (unreachable) return t.skip(unreachable);
    const project = await installed(packages);
    try {
      const types = path.join(project.dir, 'node_modules', '@types');
      symlinkSync(path.join(root, 'node_modules', '@types'), types);
      // The first version of ai 6 makes no videos.
      const text = name === 'ai 6, the lowest' ? program : program + video;
      project.write({ 'program.mts': text, 'tsconfig.json': strict(['program.mts']) });
      const checked = await run(path.join(tools, 'tsc'), ['-p', '.'], project.dir);
      assert.equal(checked.code, 0, checked.stdout);
      const ran = await run(process.execPath, ['program.mts'], project.dir, env);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, /^Hello[^]*\nmicro-USD: \d+\nimage\/png\n/);
      assert.equal(ran.stdout.includes('video/mp4\n'), text !== program);
    } finally {
      project.stop();
    }
  });
}

const program = `
import { farebox } from '@farebox/client/ai';
import * as sdk from 'ai';

const { textStream, providerMetadata } = sdk.streamText({
  model: farebox('sandbox/chat'),
  prompt: 'Say hello.',
  maxOutputTokens: 100,
});
let text = '';
for await (const piece of textStream) text += piece;
console.log(text);
console.log('micro-USD:', (await providerMetadata)?.farebox?.charged_usd_micro);

const { image } = await sdk.generateImage({
  model: farebox.image('sandbox/canvas/text-to-image'),
  prompt: 'A lighthouse',
  providerOptions: { farebox: { resolution: '1k' } },
});
console.log(image.mediaType);
`;

const video = `
const { video } = await sdk.experimental_generateVideo({
  model: farebox.video('sandbox/film/draft/text-to-video'),
  prompt: 'Waves',
  duration: 1,
});
console.log(video.mediaType);
`;
