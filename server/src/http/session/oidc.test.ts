import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subject } from './oidc.ts';

const tokenOf = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify({ sub: 'ada', ...claims })).toString('base64url')}.sig`;

for (const claims of [
  { aud: 'farebox' },
  { aud: ['farebox'] },
  { aud: 'farebox', azp: 'farebox' },
  { aud: ['farebox', 'other'], azp: 'farebox' },
]) {
  test(`a token of ${JSON.stringify(claims)} is taken`, () => {
    assert.equal(subject(tokenOf(claims), 'ada', 'farebox'), 'ada');
  });
}

for (const claims of [
  { aud: ['farebox', 'other'] },
  { aud: ['other', 'farebox'], azp: 'other' },
  { aud: ['farebox', 'other'], azp: null },
  { aud: ['farebox', 'farebox', 7] },
  { aud: 'farebox', azp: 'other' },
  { aud: 'farebox', azp: ['farebox'] },
]) {
  test(`a token of ${JSON.stringify(claims)} is refused`, () => {
    assert.throws(() => subject(tokenOf(claims), 'ada', 'farebox'), /another client/);
  });
}

test('a token of another person than the profile is refused', () => {
  assert.throws(() => subject(tokenOf({ aud: 'farebox' }), 'bo', 'farebox'), /another person/);
});
