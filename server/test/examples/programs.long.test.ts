import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { examples, missing, openWorld, type World } from './example-kit.ts';

/** The example programs: each runs its job, and spends nothing if it must not. */

let world: World;
before(async () => void (world = await openWorld()));
after(() => world.stop());

interface Program {
  skip: string | false;
  command: string;
  /** Arguments that make an image in this file, with this job name and this maximum price. */
  args(prompt: string, file: string, job: string, most: string): string[];
  env?(job: string, most: string): Record<string, string>;
}

const programs: Record<string, Program> = {
  curl: {
    skip: missing('curl', '--version'),
    command: join(examples, 'curl/generate.sh'),
    args: (prompt, file) => [prompt, file],
    env: (job, most) => ({ IDEMPOTENCY_KEY: job, MAX_USD_MICRO: most }),
  },
  python: {
    skip: missing('python3', '-c', 'import requests'),
    command: 'python3',
    args: (prompt, file, job, most) => [
      join(examples, 'python/farebox_example.py'),
      'picture',
      prompt,
      file,
      `--idempotency-key=${job}`,
      `--max-usd-micro=${most}`,
    ],
  },
  go: {
    skip: missing('go', 'version'),
    command: 'go',
    args: (prompt, file, job, most) => [
      'run',
      join(examples, 'go/main.go'),
      '-idempotency-key',
      job,
      '-file',
      join(world.dir, file),
      '-max-usd-micro',
      most,
      prompt,
    ],
  },
};

const prompt = 'A "lighthouse" at dusk: a\\b';

async function requests(): Promise<Record<string, any>[]> {
  const { body } = await world.service.call('GET', '/v1/requests', { key: world.account.key });
  return body.data;
}

for (const [name, { skip, command, args, env }] of Object.entries(programs)) {
  const make = (file: string, job: string, most = '1000000', more: Record<string, string> = {}) =>
    world.run(command, args(prompt, file, job, most), { ...env?.(job, most), ...more });

  describe(`examples/${name}`, { skip }, () => {
    test('makes a picture of the prompt, word for word, and says what it cost', async () => {
      const { code, stdout, stderr } = await make(`${name}.png`, `${name}-1`);
      assert.equal(code, 0, stderr);
      const { width } = await sharp(join(world.dir, `${name}.png`)).metadata();
      assert.ok(width >= 1_000, `${width} pixels wide`);
      const [{ request_id, charged_usd_micro }] = (await requests()) as [Record<string, any>];
      const { key } = world.account;
      const card = await world.service.call('GET', `/v1/requests/${request_id}`, { key });
      assert.equal(card.body.input.prompt, prompt);
      assert.match(stdout, new RegExp(request_id));
      assert.match(stdout, /status: COMPLETED/);
      assert.match(stdout, new RegExp(`charged: .*${Number(charged_usd_micro) / 10_000}`));
      assert.ok(!stdout.includes(key) && !stderr.includes(key));
    });

    test('does the same job once, however often it is started under one name', async () => {
      const before = await requests();
      const { code, stderr } = await make(`${name}-again.png`, `${name}-1`);
      assert.equal(code, 0, stderr);
      assert.equal((await requests()).length, before.length);
      const files = [`${name}.png`, `${name}-again.png`].map((file) => join(world.dir, file));
      assert.deepEqual(readFileSync(files[1]!), readFileSync(files[0]!));
    });

    test('submits nothing that costs more than it may', async () => {
      const before = await requests();
      const { code, stderr } = await make('dear.png', `${name}-2`, '100');
      assert.equal(code, 1);
      assert.match(stderr, /above 100/);
      assert.equal((await requests()).length, before.length);
      assert.equal(existsSync(join(world.dir, 'dear.png')), false);
    });

    test('says what is wrong where it is refused, and leaves no file', async () => {
      const wrong = { FAREBOX_API_KEY: 'fbx_wrong' };
      const { code, stderr } = await make('none.png', `${name}-3`, '1000000', wrong);
      assert.equal(code, 1);
      assert.match(stderr, /unauthorized/);
      assert.deepEqual(
        readdirSync(world.dir).filter((file) => /none|part/.test(file)),
        [],
      );
    });
  });
}

describe('examples/python chat', { skip: programs.python!.skip }, () => {
  const chat = (text: string) =>
    world.run('python3', [join(examples, 'python/farebox_example.py'), 'chat', text]);

  test('prints the reply as it comes, and what it cost', async () => {
    const { code, stdout, stderr } = await chat('Say hello.');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /\S+[\s\S]*\ncharged: \$0\.0000\d+\n$/);
    const [{ kind, status }] = (await requests()) as [Record<string, any>];
    assert.deepEqual([kind, status], ['text', 'COMPLETED']);
  });
});
