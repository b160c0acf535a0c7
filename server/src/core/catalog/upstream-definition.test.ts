import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { definitionOf, settingsOf } from './upstream-definition.ts';

const definition = definitionOf({
  name: 'own',
  adapter: 'openai',
  url: 'https://models.example/',
  key_from: 'OWN_KEY',
});
const withKey = (key: string | null, more: Partial<typeof definition> = {}) =>
  settingsOf({ ...definition, ...more }, (name) => (name === 'OWN_KEY' ? key : null));

describe('the key of an upstream', () => {
  const good: [what: string, key: string, sent: string][] = [
    ['as it is', 'sk-abc_123~!', 'sk-abc_123~!'],
    ['without the line break that it was pasted with', 'sk-abc\r\n', 'sk-abc'],
    ['without the blanks around it', ' \tsk-abc ', 'sk-abc'],
  ];
  for (const [what, key, sent] of good) {
    test(`is taken ${what}`, () => {
      const settings = withKey(key);
      assert.ok(typeof settings === 'object');
      assert.equal(settings.key, sent);
    });
  }

  for (const [what, key] of [
    ['a Cyrillic letter', 'sk-\u0430bc'],
    ['a control character', 'sk-abc\u007f'],
  ] as const) {
    test(`that has ${what} in it is refused in words that name its variable, and not itself`, () => {
      for (const key_optional of [false, true]) {
        const told = withKey(key, { key_optional });
        assert.ok(typeof told === 'string');
        assert.match(
          told,
          /^the upstream "own" is not set up: it needs OWN_KEY to hold a key of ASCII/,
        );
        assert.ok(!told.includes('abc'));
      }
    });
  }

  test('may be several with blanks or line breaks between, each counted once', () => {
    const settings = withKey(' sk-abc\tsk-def\r\nsk-abc\n\n sk-ghi\n');
    assert.ok(typeof settings === 'object');
    assert.deepEqual(settings.keys, ['sk-abc', 'sk-def', 'sk-ghi']);
    assert.equal(settings.key, 'sk-abc');
    assert.match(String(withKey('sk-abc sk-\u0430bc')), /needs OWN_KEY to hold a key of ASCII/);
  });

  test('may be one of 32 at most', () => {
    const many = (count: number) =>
      withKey(Array.from({ length: count }, (_, i) => `sk-${i}`).join(' '));
    assert.ok(typeof many(32) === 'object');
    assert.match(String(many(33)), /it needs OWN_KEY to hold at most 32 keys$/);
  });

  test('of blanks alone is none', () => {
    for (const key of [null, '', ' \n']) {
      assert.equal(withKey(key), 'the upstream "own" is not set up: it needs OWN_KEY');
      const settings = withKey(key, { key_optional: true });
      assert.ok(typeof settings === 'object');
      assert.equal(settings.key, null);
    }
  });
});
