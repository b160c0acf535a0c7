import assert from 'node:assert/strict';
import { test } from 'node:test';
import vectors from '../../../test/fixtures/address-vectors.json' with { type: 'json' };
import { accountXpub, mnemonicOf, readMnemonic } from './mnemonic.ts';

test('the words of a wallet give the same public keys as other wallets give', () => {
  for (const { mnemonic, xpub_evm, xpub_tron } of vectors.sets) {
    const typed = ` ${mnemonic.toUpperCase().replaceAll(' ', '\n ')}\n`;
    const read = readMnemonic(typed)!;
    assert.deepEqual([accountXpub(read, 'evm'), accountXpub(read, 'tron')], [xpub_evm, xpub_tron]);
  }
});

test('chance gives 24 words, which are read as they were given', () => {
  const words = mnemonicOf(new Uint8Array(32).fill(7));
  assert.equal(words.split(' ').length, 24);
  assert.equal(readMnemonic(words), words);
});

test('words with a wrong one, or in another order, are refused', () => {
  const [first, second, ...more] = vectors.sets[2]!.mnemonic.split(' ');
  for (const words of [
    '',
    [second, first, ...more].join(' '),
    ['farebox', second, ...more].join(' '),
    more.join(' '),
  ])
    assert.equal(readMnemonic(words), null, words);
});
