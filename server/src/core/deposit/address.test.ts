import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HDKey } from '@scure/bip32';
import vectors from '../../../test/fixtures/address-vectors.json' with { type: 'json' };
import { parseAddress, readXpub, showAddress, type AddressSource, type Family } from './address.ts';

function sourceOf(xpub: string, family: Family): AddressSource {
  const read = readXpub(xpub, family);
  assert.ok('addressAt' in read, JSON.stringify(read));
  return read.addressAt;
}

describe('addresses', () => {
  for (const { mnemonic, xpub_evm, xpub_tron, addresses } of vectors.sets)
    test(`of "${mnemonic.slice(0, 20)}…" are those of its wallet`, () => {
      const evm = sourceOf(xpub_evm, 'evm');
      const tron = sourceOf(xpub_tron, 'tron');
      for (const each of addresses) {
        assert.equal(showAddress(evm(each.index), 'evm'), each.evm);
        assert.equal(showAddress(tron(each.index), 'tron'), each.tron);
        assert.equal(tron(each.index), each.tron_hex);
        assert.equal(parseAddress(each.evm, 'evm'), evm(each.index));
        assert.equal(parseAddress(each.tron, 'tron'), each.tron_hex);
      }
    });

  test('in one case have no checksum, and are read', () => {
    const { evm } = vectors.sets[0]!.addresses[0]!;
    assert.equal(parseAddress(evm.toLowerCase(), 'evm'), evm.toLowerCase());
    assert.equal(parseAddress(`0x${evm.slice(2).toUpperCase()}`, 'evm'), evm.toLowerCase());
  });

  for (const [why, text] of Object.entries(vectors.refused))
    test(`are refused: ${why}`, () => {
      assert.equal(parseAddress(text, 'evm'), null);
      assert.equal(parseAddress(text, 'tron'), null);
    });

  test('of the other family are refused', () => {
    const { evm, tron } = vectors.sets[0]!.addresses[0]!;
    assert.equal(parseAddress(evm, 'tron'), null);
    assert.equal(parseAddress(tron, 'evm'), null);
  });
});

describe('a key is refused, and not repeated', () => {
  const { xpub_evm } = vectors.sets[0]!;
  const seeded = HDKey.fromMasterSeed(Buffer.alloc(32, 7));
  const cases: Record<string, [text: string, problem: RegExp]> = {
    'a private key of the account': [
      seeded.derive("m/44'/60'/0'").privateExtendedKey,
      /^This is a private key, and anybody who has it can take every deposit/,
    ],
    "another network's private key": ['zprvAWgYBBk7JR8Gj', /^This is a private key/],
    'the key of the wallet as a whole': [seeded.publicExtendedKey, /is of level 0/],
    'the key of one address': [
      HDKey.fromExtendedKey(xpub_evm).derive('m/0/0').publicExtendedKey,
      /is of level 5/,
    ],
    'a path of three parts that is no account': [
      HDKey.fromExtendedKey(seeded.publicExtendedKey).derive('m/1/2/3').publicExtendedKey,
      /Export the key of the account m\/44'\/60'\/0'/,
    ],
    "another network's public key": ['zpub6rFR7y4Q2AijB', /^This is not an xpub/],
    'a changed letter': [xpub_evm.replace('xpub6C', 'xpub6D'), /wrong or missing character/],
    'a missing end': [xpub_evm.slice(0, -1), /wrong or missing character/],
    'the words of a wallet': [
      'test test test test test test test test test test test junk',
      /^These are the words of a wallet, and anybody who has them can take/,
    ],
    'an address': ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', /^This is not an xpub/],
    nothing: ['', /^This is not an xpub/],
  };
  for (const [outcome, [text, problem]] of Object.entries(cases))
    test(outcome, () => {
      const read = readXpub(text, 'evm');
      assert.ok('problem' in read);
      assert.match(read.problem, problem);
      assert.ok(text === '' || !read.problem.includes(text));
    });
});
