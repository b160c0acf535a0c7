import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { showAddress } from './address.ts';
import { parseChainFile } from './chain-file.ts';

const folder = path.resolve(import.meta.dirname, '../../../../chains');
const shipped = fs.readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const textOf = (name: string) => fs.readFileSync(path.join(folder, name), 'utf8');

describe('the chain files that ship', () => {
  for (const file of shipped)
    test(`${file} is right, and has its contracts with their checksum`, () => {
      const content = parse(textOf(file));
      const { chain, faults } = parseChainFile(content);
      assert.deepEqual(faults, []);
      assert.equal(`${chain!.name}.yaml`, file);
      for (const [i, { address }] of chain!.tokens.entries())
        assert.equal(showAddress(address, chain!.family), content.tokens[i].address);
    });

  test('have different chain ids', () => {
    const ids = shipped.map((file) => parse(textOf(file)).chain_id);
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe('a chain file is refused with a sentence', () => {
  const bsc = parse(textOf('bsc.yaml'));
  const [usdt] = bsc.tokens;
  const cases: Record<string, [change: object, message: RegExp]> = {
    'no name': [{ name: undefined }, /^name is missing\.$/],
    'an unknown field': [{ rpc: 'https://x' }, /^rpc is not a known field; known fields are name,/],
    'another family': [{ family: 'solana' }, /^family must be one of evm, tron/],
    'a contract with a wrong letter': [
      { tokens: [{ ...usdt, address: usdt.address.replace('f99', 'F99') }] },
      /^tokens\.0\.address is not an address of the evm family/,
    ],
    "another family's contract": [
      { tokens: [{ ...usdt, address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' }] },
      /^tokens\.0\.address is not an address of the evm family/,
    ],
    'one contract twice, in other letters': [
      { tokens: [usdt, { ...usdt, address: usdt.address.toLowerCase() }] },
      /^tokens has two entries with the same contract\.$/,
    ],
    'nothing to credit': [
      { tokens: [{ ...usdt, credit: false }] },
      /^At least one entry of tokens must have credit: true\.$/,
    ],
    'a minimum of nothing': [{ minimum_usd: '0' }, /^minimum_usd must be an amount above 0/],
    'a minimum in words': [{ minimum_usd: 'one' }, /^minimum_usd must be an amount above 0/],
    'no confirmations': [
      { finality: { confirmations: 0 } },
      /^finality\.confirmations must be >= 1/,
    ],
    'another word for final': [{ finality: 'safe' }, /^finality must be "finalized"/],
    'decimals as text': [
      { tokens: [{ ...usdt, decimals: '18' }] },
      /^tokens\.0\.decimals must be int/,
    ],
  };
  for (const [outcome, [change, message]] of Object.entries(cases))
    test(outcome, () => {
      const { chain, faults } = parseChainFile(JSON.parse(JSON.stringify({ ...bsc, ...change })));
      assert.equal(chain, null);
      assert.match(faults[0]!.message, message);
    });
});

test('a chain without the tag has a number of confirmations, and may have a start', () => {
  const content = {
    ...parse(textOf('tron.yaml')),
    finality: { confirmations: 19 },
    start_height: 5,
  };
  const { chain } = parseChainFile(content);
  assert.deepEqual([chain!.finality, chain!.start_height], [{ confirmations: 19 }, 5]);
});
