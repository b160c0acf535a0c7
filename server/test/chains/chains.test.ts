import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openChains } from '../../src/chains/chains.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import vectors from '../fixtures/address-vectors.json' with { type: 'json' };

/** The chains that settings switch on, and refused settings. */

const fetch = createFetch({ guard: false });
const shipped = join(import.meta.dirname, '../../../chains');
const dir = mkdtempSync(join(tmpdir(), 'farebox-chains-'));
after(async () => {
  await fetch.close();
  rmSync(dir, { recursive: true });
});

const [known, , own] = vectors.sets;
const evm = own!.xpub_evm;
const tron = own!.xpub_tron;
const bsc = { FAREBOX_RPC_BSC: 'https://one.example/KEY1 https://two.example/KEY2' };

function opened(settings: Record<string, string>, folder = shipped) {
  const hidden: string[] = [];
  const { FAREBOX_XPUB_EVM = null, FAREBOX_XPUB_TRON = null } = settings;
  const chains = openChains({
    dir: folder,
    xpubs: { evm: FAREBOX_XPUB_EVM, tron: FAREBOX_XPUB_TRON },
    variable: (name) => settings[name] ?? null,
    named: Object.keys(settings).filter((name) => name.startsWith('FAREBOX_RPC_')),
    fetch,
    hide: (secret) => hidden.push(secret),
  });
  return { ...chains, hidden };
}

describe('chains', () => {
  test('are live with an xpub and one or two endpoints, whose addresses are secret', () => {
    const { live, faults, hidden } = opened({
      ...bsc,
      FAREBOX_XPUB_EVM: evm,
      FAREBOX_XPUB_TRON: tron,
      FAREBOX_RPC_TRON: 'https://api.trongrid.io/jsonrpc',
      FAREBOX_RPC_TRON_KEY: 'a-trongrid-key',
    });
    assert.deepEqual(faults, []);
    assert.deepEqual(
      live.map(({ chain, endpoints }) => [chain.name, endpoints.length]),
      [
        ['bsc', 2],
        ['tron', 1],
      ],
    );
    for (const secret of [evm, tron, ...bsc.FAREBOX_RPC_BSC.split(' '), 'a-trongrid-key'])
      assert.ok(hidden.includes(secret), secret);
  });

  test('without an endpoint are not live', () => {
    const { live, faults } = opened({ FAREBOX_XPUB_EVM: evm });
    assert.deepEqual([live, faults], [[], []]);
  });

  const refused: Record<string, [settings: Record<string, string>, fault: RegExp]> = {
    'an endpoint without an xpub': [bsc, /^FAREBOX_RPC_BSC is set, so set FAREBOX_XPUB_EVM too/],
    'three endpoints': [
      { FAREBOX_XPUB_EVM: evm, FAREBOX_RPC_BSC: 'http://a http://b http://c' },
      /^FAREBOX_RPC_BSC: must be one or two https or http addresses/,
    ],
    'an endpoint of another kind': [
      { FAREBOX_XPUB_EVM: evm, FAREBOX_RPC_BSC: 'wss://one.example' },
      /^FAREBOX_RPC_BSC: must be one or two https or http addresses/,
    ],
    'a private key': [
      { ...bsc, FAREBOX_XPUB_EVM: `xprv${evm.slice(4)}` },
      /^FAREBOX_XPUB_EVM: This is a private key/,
    ],
    'an xpub with a wrong letter': [
      { ...bsc, FAREBOX_XPUB_EVM: `${evm.slice(0, -1)}1` },
      /^FAREBOX_XPUB_EVM: This xpub has a wrong or missing character/,
    ],
    'one xpub for both families': [
      { FAREBOX_XPUB_EVM: evm, FAREBOX_XPUB_TRON: evm },
      /^FAREBOX_XPUB_EVM and FAREBOX_XPUB_TRON are the same key/,
    ],
    'the public key of a mnemonic that everybody knows': [
      { ...bsc, FAREBOX_XPUB_EVM: known!.xpub_evm },
      /^FAREBOX_XPUB_EVM: This xpub belongs to a mnemonic that is printed in manuals/,
    ],
  };
  const live = { ...bsc, FAREBOX_XPUB_EVM: evm, FAREBOX_XPUB_TRON: tron };
  const useless: Record<string, RegExp> = {
    FAREBOX_RPC_BCS: /^FAREBOX_RPC_BCS: no chain file .* only FAREBOX_RPC_ARBITRUM, .* do\.$/,
    FAREBOX_RPC_bsc: /^FAREBOX_RPC_bsc: no chain file/,
    FAREBOX_RPC_: /^FAREBOX_RPC_: no chain file/,
    FAREBOX_RPC_BSC_2: /^FAREBOX_RPC_BSC_2: no chain file/,
    FAREBOX_RPC_PLAY_FILE: /^FAREBOX_RPC_PLAY_FILE: no chain file/,
    FAREBOX_RPC_TRON_KY: /^FAREBOX_RPC_TRON_KY: no chain file/,
    FAREBOX_RPC_TRON_KEY: /^FAREBOX_RPC_TRON_KEY needs FAREBOX_RPC_TRON\.$/,
    FAREBOX_RPC_BSC_KEY: /^FAREBOX_RPC_BSC_KEY: only a chain of the TRON family takes a key\.$/,
  };
  for (const [name, fault] of Object.entries(useless))
    test(`are refused with ${name}, which no chain reads`, () => {
      const { faults } = opened({ ...live, [name]: 'https://one.example' });
      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults[0]!, fault);
    });

  for (const [what, [settings, fault]] of Object.entries(refused))
    test(`are refused with ${what}, in a sentence without the secret`, () => {
      const { live, faults } = opened(settings);
      assert.deepEqual(live, []);
      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults[0]!, fault);
      for (const value of Object.values(settings)) assert.ok(!faults[0]!.includes(value));
    });

  test('are refused if one has two names, as each deposit would be credited twice', () => {
    const folder = join(dir, 'twins');
    mkdirSync(folder);
    const text = readFileSync(join(shipped, 'bsc.yaml'), 'utf8');
    writeFileSync(join(folder, 'bsc.yaml'), text);
    writeFileSync(join(folder, 'bnb.yaml'), text.replace('name: bsc', 'name: bnb'));
    const { faults } = opened(
      { ...bsc, FAREBOX_XPUB_EVM: evm, FAREBOX_RPC_BNB: 'http://a' },
      folder,
    );
    assert.equal(faults.length, 1);
    assert.match(faults[0]!, /^FAREBOX_RPC_BSC: bsc and bnb are the same chain \(56\)/);
  });

  test('are refused with files that cannot be used, each named with its fault', () => {
    const folder = join(dir, 'chains');
    mkdirSync(folder);
    cpSync(join(shipped, 'bsc.yaml'), join(folder, 'other.yaml'));
    writeFileSync(join(folder, 'broken.yaml'), 'name: [');
    const { faults } = opened({}, folder);
    assert.equal(faults.length, 2);
    assert.match(faults[0]!, /broken\.yaml: /);
    assert.match(faults[1]!, /other\.yaml: name must be the name of the file without \.yaml\.$/);
  });
});
