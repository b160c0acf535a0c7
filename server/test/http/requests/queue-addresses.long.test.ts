import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isLong } from '../../kit/long.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';

/**
 * Addresses that a submit brings along: for the notification and in the input. No worker runs here, so that none of
 * them is ever called.
 */

const image = '/v1/queue/fake/image';
const hook = 'https://93.184.216.34/hook';

const addresses: Record<string, string[]> = {
  public: ['93.184.216.34'],
  private: ['10.0.0.1'],
  both: ['93.184.216.34', '::ffff:127.0.0.1'],
};

/** Resolves a host name; unknown names do not exist. */
async function lookup(hostname: string): Promise<string[]> {
  const found = addresses[hostname.replace('.farebox-test.org', '')];
  if (!found) throw new Error('no such name');
  return found;
}

const { service, submit, card, refused } = withService({
  env: { FAREBOX_OPEN_JOBS: '10000' },
  lookup,
});

describe('webhook_url', () => {
  const given: [string, Record<string, unknown>, string][] = [
    ['in the query', {}, `?webhook_url=${encodeURIComponent(hook)}`],
    ['in the body', { webhook_url: hook }, ''],
    ['in both, the same', { webhook_url: hook }, `?webhook_url=${hook}`],
  ];
  for (const [name, body, query] of given) {
    test(`${name} is kept, and taken out of the input`, async () => {
      const shown = await card(
        await submit({ prompt: 'x', ...body }, { path: `${image}${query}` }),
      );
      assert.deepEqual(shown.webhook, { url: hook, state: 'pending', last_status: null });
      assert.deepEqual(shown.input, { prompt: 'x' });
    });
  }

  test('that is left out leaves no webhook', async () => {
    assert.equal((await card(await submit({ prompt: 'x' }))).webhook, null);
  });

  const badOnes: [string, Record<string, unknown>, string][] = [
    ['different ones in query and body', { webhook_url: hook }, `?webhook_url=${hook}2`],
    ['two in the query', {}, `?webhook_url=${hook}&webhook_url=${hook}`],
    ['an empty text', { webhook_url: '' }, ''],
    ['a list', { webhook_url: [hook] }, ''],
    ['an object', { webhook_url: { url: hook } }, ''],
    ['an address without scheme', { webhook_url: '93.184.216.34/hook' }, ''],
    ['a relative one', { webhook_url: '/hook' }, ''],
    ['another scheme', { webhook_url: 'ftp://93.184.216.34/' }, ''],
    ['a user and a password', { webhook_url: 'https://a:b@93.184.216.34/' }, ''],
    ['more than 2048 characters', { webhook_url: `${hook}/${'a'.repeat(2048)}` }, ''],
    ['a line break', { webhook_url: `${hook}\r\nX: y` }, ''],
  ];
  for (const [name, body, query] of badOnes) {
    test(`is refused: ${name}`, async () => {
      const { param } = await refused(
        () => submit({ prompt: 'x', ...body }, { path: `${image}${query}` }),
        'bad_webhook_url',
      );
      assert.equal(param, 'webhook_url');
    });
  }

  const names: [string, string, number][] = [
    ['a public address', 'public', 202],
    ['a private address', 'private', 400],
    ['a public and a private one', 'both', 400],
    ['no address: it is judged when it is used', 'nowhere', 202],
  ];
  for (const [name, label, status] of names) {
    test(`of a name with ${name} is ${status === 202 ? 'taken' : 'refused'}`, async () => {
      const url = `https://${label}.farebox-test.org/hook`;
      for (const input of [{ webhook_url: url }, { image_url: url }]) {
        const submitted = () => submit({ prompt: 'x', ...input });
        if (status === 202) assert.equal((await submitted()).status, 202);
        else await refused(submitted, 'webhook_url' in input ? 'bad_webhook_url' : 'invalid_input');
      }
    });
  }

  test('of http is refused where the operator wants https', async () => {
    const { base } = await service.another({ FAREBOX_WEBHOOK_HTTPS_ONLY: 'on' });
    await refused(
      () => submit({ prompt: 'x', webhook_url: 'http://93.184.216.34/' }, { base }),
      'bad_webhook_url',
    );
    assert.equal((await submit({ prompt: 'x', webhook_url: hook }, { base })).status, 202);
    assert.equal(
      (await submit({ prompt: 'x', image_url: 'http://93.184.216.34/' }, { base })).status,
      202,
    );
  });
});

describe('an address of somewhere inside', () => {
  const fixture = new URL('../../fixtures/ssrf-cases.json', import.meta.url);
  const cases = JSON.parse(readFileSync(fixture, 'utf8')) as {
    refuse: { url: string; form: string; range: string }[];
    allow: string[];
  };
  /** One of each spelling, and one of each range. */
  const seen = new Set<string>();
  const sample = cases.refuse.filter(({ form, range }) => {
    const isNew = form === 'syntax/name' || !seen.has(form) || !seen.has(range);
    seen.add(form).add(range);
    return isNew;
  });

  test('is refused at submit as a webhook and as an input, in every spelling', async () => {
    assert.ok(sample.length > 80, `${sample.length} cases`);
    const earlier = await traces(service);
    // lib/guard.long.test.ts tests the guard itself with all of them.
    for (const { url } of isLong ? sample : sample.filter((_, i) => i % 4 === 0)) {
      assertRefused(await submit({ prompt: 'x', webhook_url: url }), 'bad_webhook_url', {
        about: url,
      });
      // An empty text in an input counts as left out.
      if (url === '') continue;
      assertRefused(await submit({ prompt: 'x', image_url: url }), 'invalid_input', { about: url });
    }
    assert.deepEqual(await traces(service), earlier);
  });

  test('does not take its neighbours with it', async () => {
    for (const url of cases.allow.filter((each) => /^https?:\/\/[\d.[]/.test(each))) {
      assert.equal((await submit({ prompt: 'x', webhook_url: url })).status, 202, url);
      assert.equal((await submit({ prompt: 'x', image_url: url })).status, 202, url);
    }
  });
});
