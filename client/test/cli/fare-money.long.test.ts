/** `fare price` explains the price, and `fare` names misspelt inputs. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { startService, type Service } from '../../../server/test/kit/service.ts';
import { catalog, homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let home: Home;
before(async () => {
  service = await startService({ running: true, catalog });
});
beforeEach(async () => {
  home = homeOf(service, (await service.account({ usd: 50 })).key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

/** Costs a dollar, because the most expensive resolution is the default. */
const dear = ['run', 'fake/dear', '--prompt', 'a cat'];

describe('fare price', () => {
  test('of a text model names the tokens that it needs, as `fare model` does', async () => {
    const example = 'fare price fake/chat input_tokens=1000 output_tokens=500';
    const ran = await home.run(['price', 'fake/chat', '--prompt', 'hi', '--json']);
    refused(ran, 2, /give input_tokens and output_tokens\./);
    assert.ok(ran.stderr.includes(example), ran.all);
    assert.equal(ran.json.error.code, 'unpriceable');
    refused(await home.run(['price', 'fake/chat', 'input_tokens=1']), 2, /give output_tokens\./);
    assert.ok(well(await home.run(['model', 'fake/chat'])).stdout.includes(example));
    assert.equal(well(await home.run(example.split(' ').slice(1))).stdout, '0.002\n');
  });

  test('a misspelt input is named with the likely one, and costs what it said', async () => {
    const wrong = [...dear, 'resolutoin=1k'];
    const says = 'resolutoin is not an input of fake/dear. Did you mean resolution?';
    const priced = well(await home.run(['price', ...wrong.slice(1), '--json']));
    assert.equal(priced.stderr, `${says}\n`);
    assert.equal(priced.json.price_usd_micro, '1000000');
    const ran = well(await home.run([...wrong, '--yes', '--no-save', '--quiet']));
    assert.ok(ran.stderr.includes(says), ran.all);
    const right = well(await home.run(['price', ...dear.slice(1), 'resolution=1k']));
    assert.equal(right.stderr, '');
  });

  test('of a local file: nothing is uploaded for it', async () => {
    fs.writeFileSync(path.join(home.dir, 'a.png'), tinyPng);
    const ran = await home.run(['price', 'fake/image', '--prompt', 'x', '--image', 'a.png']);
    assert.equal(well(ran).stdout, '0.01\n');
    assert.doesNotMatch(ran.stderr, /Upload/);
  });
});
