/** Amounts as the pages show them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { briefUsd, fullUsd, wholeUsd } from '../src/money.ts';

const cases: [micro: string, down: string, up: string, full: string][] = [
  ['0', '$0.00', '$0.00', '$0.000000'],
  ['1', '$0.000001', '$0.000001', '$0.000001'],
  ['2158', '$0.00215', '$0.00216', '$0.002158'],
  ['60000', '$0.06', '$0.06', '$0.060000'],
  ['133334', '$0.133', '$0.134', '$0.133334'],
  ['999999', '$0.999', '$1.00', '$0.999999'],
  ['1000000', '$1.00', '$1.00', '$1.000000'],
  ['409557373', '$409.55', '$409.56', '$409.557373'],
  ['1234567891234', '$1,234,567.89', '$1,234,567.90', '$1,234,567.891234'],
  ['-2158', '−$0.00215', '−$0.00216', '−$0.002158'],
  ['-409557373', '−$409.55', '−$409.56', '−$409.557373'],
  // Beyond what a double holds exactly.
  ['9007199254740993', '$9,007,199,254.74', '$9,007,199,254.75', '$9,007,199,254.740993'],
];
for (const [micro, down, up, full] of cases)
  test(`${micro} micro-USD is ${down}, as a price ${up}, and ${full} in the ledger`, () => {
    assert.equal(briefUsd(micro), down);
    assert.equal(briefUsd(BigInt(micro), 'up'), up);
    assert.equal(fullUsd(micro), full);
    assert.equal(wholeUsd(micro), full.replace(/0{1,4}$/, ''));
  });
