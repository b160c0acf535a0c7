import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { sql } from '../../../../src/lib/sql/sql.ts';
import type { Lookup } from '../../../../src/lib/outbound/fetch.ts';
import { tinyPng } from '../../../kit/fake.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { startService, type Reply } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { traces } from '../../../kit/traces.ts';

/** Images, audio and files in the messages of a chat call, by the same rules as in the queue. */

async function lookup(hostname: string): Promise<string[]> {
  if (hostname === 'public.farebox-test.org') return ['93.184.216.34'];
  if (hostname === 'private.farebox-test.org') return ['10.0.0.1'];
  throw new Error('no such name');
}

const { service, account } = withService({ lookup });

const picture = (url: string) => ({ type: 'image_url', image_url: { url } });
const sound = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
const file = (fields: Record<string, unknown>) => ({ type: 'file', file: fields });

/** A chat call with these parts in the second message, after a text. */
function chat(parts: unknown[], more: Record<string, unknown> = {}): Promise<Reply> {
  const messages = [
    { role: 'system', content: 'http://10.0.0.1/ is only a text here' },
    { role: 'user', content: [{ type: 'text', text: 'What is http://127.0.0.1/?' }, ...parts] },
  ];
  const body = { model: 'fake/chat', max_tokens: 10, messages, ...more };
  return account.post('/v1/chat/completions', body);
}

/** Asserts a refusal that names the place, leaves nothing, and does not call the upstream. */
async function refused(part: unknown, place: string, says: RegExp): Promise<string> {
  const earlier = await traces(service);
  const asked = service.fake.chats.length;
  let message = '';
  for (const stream of [false, true]) {
    const error = assertRefused(await chat([part], { stream }), 'bad_messages');
    assert.equal(error.param, `messages[1].content[1].${place}`);
    assert.match(error.message, says);
    message = error.message;
  }
  assert.deepEqual(await traces(service), earlier);
  assert.equal(service.fake.chats.length, asked);
  return message;
}

async function upload(owner = account): Promise<string> {
  const reply = await owner.upload(tinyPng, 'image/png');
  return reply.body.file_id;
}

const png = `data:image/png;base64,${tinyPng.toString('base64')}`;
const absent = `file_${'0'.repeat(32)}`;

describe('a valid part reaches the model unchanged', () => {
  const taken: [name: string, part: unknown][] = [
    ['a public address', picture('https://93.184.216.34/a.png')],
    ['a name with a public address', picture('https://public.farebox-test.org/a.png')],
    ['a name that does not resolve now', picture('https://nowhere.farebox-test.org/a.png')],
    ['a data: address', picture(png)],
    ['sound as base64', sound('UklGRg+/')],
    ['a file as base64', file({ file_data: 'JVBERi0=', filename: 'http.pdf' })],
    ['a file as a data: address', file({ file_data: 'data:application/pdf;base64,JVBERi0=' })],
  ];
  for (const [name, part] of taken) {
    test(name, async () => {
      const reply = await chat([part]);
      assert.equal(reply.status, 200, reply.text);
      const { messages } = service.fake.chats.at(-1)!.body as any;
      assert.deepEqual(messages[1].content[1], part);
    });
  }

  test('a file of the account, as an image and as a file', async () => {
    const id = await upload();
    assert.equal((await chat([picture(id), file({ file_id: id })])).status, 200);
  });
});

describe('is refused, with its place', () => {
  const inside = /is not acceptable: /;
  const bad: [name: string, part: unknown, place: string, says: RegExp][] = [
    [
      "the address of the cloud's secrets",
      picture('http://169.254.169.254/latest/meta-data'),
      'image_url.url',
      inside,
    ],
    ['a loopback address', picture('http://[::1]:8080/'), 'image_url.url', inside],
    [
      'a name with a private address',
      picture('http://private.farebox-test.org/'),
      'image_url.url',
      /must be a public address/,
    ],
    ['another scheme', picture('file:///etc/passwd'), 'image_url.url', /public http\(s\) address/],
    ['no address', picture('a.png'), 'image_url.url', /must be a file_id of POST \/files/],
    [
      'a file that is not there',
      picture(absent),
      'image_url.url',
      /but this account has no such file/,
    ],
    ['sound at an address inside', sound('http://10.0.0.1/a.wav'), 'input_audio.data', inside],
    [
      'a file at an address inside',
      file({ file_data: 'http://10.0.0.1/' }),
      'file.file_data',
      inside,
    ],
    [
      'a file by an id of elsewhere',
      file({ file_id: 'file-abc' }),
      'file.file_id',
      /must be a file_id/,
    ],
    [
      'a file id that is not there',
      file({ file_id: absent }),
      'file.file_id',
      /but this account has no such file/,
    ],
    ['an address without a scheme', sound('//10.0.0.1/a.wav'), 'input_audio.data', /or base64/],
    ['a file at one', file({ file_data: '//10.0.0.1/a.pdf' }), 'file.file_data', /or base64/],
    ['sound that is no base64', sound('UklG.RGg='), 'input_audio.data', /or base64/],
    [
      'a data: address without data',
      picture('data:image/png;base64,'),
      'image_url.url',
      /is a data: address without data/,
    ],
    [
      'a data: address that is no base64',
      file({ file_data: 'data:application/pdf;base64,****' }),
      'file.file_data',
      /or base64/,
    ],
    ["the sandbox's own picture", picture('sandbox:photo'), 'image_url.url', /must be a file_id/],
    ["the sandbox's own sound", sound('sandbox:voice'), 'input_audio.data', /must be a file_id/],
  ];
  for (const [name, part, place, says] of bad) {
    test(name, async () => void (await refused(part, place, says)));
  }

  test("another account's file, and an expired one, in the words for one that never was", async () => {
    const theirs = await upload(await service.account());
    const old = await upload();
    await service.db.run(sql`update files set expires_at = now()
      where replace(id::text, '-', '') = ${old.slice('file_'.length)}`);
    const told = await refused(
      picture(absent),
      'image_url.url',
      /but this account has no such file/,
    );
    for (const id of [theirs, old]) {
      const said = await refused(picture(id), 'image_url.url', /but this account has no such file/);
      assert.equal(said.replace(id, absent), told);
    }
  });

  test('more addresses than 64 in one call', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => picture(`https://93.184.216.34/${i}.png`));
    assert.equal((await chat(many(64))).status, 200);
    const error = assertRefused(await chat(many(65)), 'bad_messages');
    assert.equal(error.param, 'messages');
    assert.match(error.message, /more than 64 files and addresses/);
  });
});

test('megabytes of file ids are refused as soon as there are too many, and leave nothing', async () => {
  const id = (i: number) => `file_${'0'.repeat(24)}${i.toString(16).padStart(8, '0')}`;
  const parts = Array.from({ length: 24_000 }, (_, i) => picture(id(i)));
  const earlier = await traces(service);
  const asked = service.fake.chats.length;
  const { param, message } = assertRefused(await chat(parts), 'bad_messages');
  assert.equal(param, 'messages');
  assert.match(message, /more than 64 files and addresses/);
  assert.deepEqual(await traces(service), earlier);
  assert.equal(service.fake.chats.length, asked);
});

test('unchecked fields do not reach the model, in a message or in a part', async () => {
  const hidden = { images: ['http://10.0.0.1/'], url: '//10.0.0.1/' };
  const known = [
    { type: 'text', text: 'hi' },
    { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
  ];
  const content = known.map((part) => ({
    ...part,
    ...hidden,
    ...(part.input_audio && { input_audio: { ...part.input_audio, ...hidden } }),
  }));
  const messages = [{ role: 'user', content, ...hidden }];
  assert.equal((await chat([], { messages })).status, 200);
  const { body } = service.fake.chats.at(-1)!;
  assert.deepEqual((body as any).messages, [{ role: 'user', content: known }]);
});

test('host names of a call are looked up in parallel, and silent ones delay it by 2 s', async () => {
  let under = 0;
  let most = 0;
  const silent: Lookup = async (hostname) => {
    if (hostname.startsWith('private')) return ['10.0.0.1'];
    most = Math.max(most, ++under);
    return new Promise(() => {});
  };
  const slow = await startService({ lookup: silent });
  try {
    const { key } = await slow.account();
    const ask = (hosts: string[]) => {
      const content = hosts.map((host) => picture(`https://${host}.farebox-test.org/a.png`));
      const body = { model: 'fake/chat', messages: [{ role: 'user', content }] };
      return slow.call('POST', '/v1/chat/completions', { key, body });
    };
    const begun = performance.now();
    const names = Array.from({ length: 8 }, (_, i) => `n${i}`);
    const [all, same, refused] = await Promise.all([
      ask(names),
      ask(names.map(() => 'same')),
      ask(['n1', 'private', 'n2']),
    ]);
    assert.ok(performance.now() - begun < 10_000, 'they were looked up one after the other');
    assert.equal(all.status, 200, all.text);
    assert.equal(same.status, 200, same.text);
    const { param } = assertRefused(refused, 'bad_messages');
    assert.equal(param, 'messages[0].content[1].image_url.url');
    assert.equal(most, 8 + 1 + 2, 'look-ups at once');
  } finally {
    await slow.stop();
  }
});
