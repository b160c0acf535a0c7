import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Command } from 'commander';
import * as s from '../http/schemas/schema.ts';
import { flag, may, operand, orNone, row, says } from './command.ts';

const input = {
  what: operand(s.choice(['on', 'off'])),
  usd: s.optional(operand(s.signedMicroUsd())),
  limit_usd: s.optional(orNone(says(s.nullable(s.amount()), 'a limit'))),
  note: may(s.nullable(s.text()), 'a note'),
  name: may(s.text(undefined, { minLength: 2, maxLength: 3 }), 'a name'),
  day: may(s.text(undefined, { pattern: '^[1-9][0-9]{0,1}\\.$', rule: 'a day' }), 'a day'),
  code: may(s.text(undefined, { pattern: '^[a-z]+$' }), 'a code'),
  rpm: s.optional(s.integer('calls', { minimum: 1, maximum: 60 })),
  height: s.optional(s.integer('a block')),
  expires: s.optional(s.time('its last day')),
  since: s.optional(s.moment('since then')),
  model: s.optional(s.list(s.text(), 'models', { word: 'id' })),
  only: s.optional(orNone(s.list(s.text(), 'models'))),
  scope: s.optional(s.list(s.choice(['read', 'money']), 'rights')),
  count: s.integer('how many', { minimum: 1, default: 5 }),
  worker: s.boolean('without one', { default: true }),
  force: flag('whatever happens'),
};

/** Runs the command and returns its input without the defaults, or the words of its refusal. */
async function given(...args: string[]): Promise<unknown> {
  let typed: Record<string, unknown> = {};
  const command = new Command('act').exitOverride().configureOutput({ writeErr: () => {} });
  const about = row('acts', input, async (values) => void (typed = { ...values }));
  about(command, async (work) => void (await work({} as never)));
  try {
    await command.parseAsync(['on', ...args], { from: 'user' });
  } catch (error) {
    return (error as Error).message;
  }
  const { what, count, worker, ...rest } = typed;
  assert.deepEqual([what, count, worker], ['on', 5, !args.includes('--no-worker')]);
  return rest;
}

describe('the options of a row become the body of a call', () => {
  const read: [args: string, body: object][] = [
    ['', {}],
    ['-2.5', { usd: '-2500000' }],
    ['3', { usd: '3000000' }],
    ['--limit-usd 0.000001', { limit_usd: '1' }],
    ['--limit-usd none', { limit_usd: null }],
    ['--note none', { note: 'none' }],
    ['--name 🐈🐈🐈 --day 12. --code a', { name: '🐈🐈🐈', day: '12.', code: 'a' }],
    ['--rpm 60 --height 0', { rpm: 60, height: 0 }],
    ['--expires 2027-01-31', { expires: '2027-01-31T23:59:59.999Z' }],
    ['--expires 2027-01-31T12:00+02:00', { expires: '2027-01-31T10:00:00.000Z' }],
    ['--since 2027-01-31', { since: '2027-01-31T00:00:00.000Z' }],
    ['--model a b --model c', { model: ['a', 'b', 'c'] }],
    ['--only a b', { only: ['a', 'b'] }],
    ['--only none', { only: null }],
    ['--scope money read', { scope: ['money', 'read'] }],
    ['--no-worker --force', { force: true }],
  ];
  for (const [args, body] of read)
    test(args || 'nothing', async () =>
      assert.deepEqual(await given(...args.split(' ').filter(Boolean)), body),
    );

  const refused: [args: string, says: RegExp][] = [
    ['five', /"five" is not an amount in USD/],
    ['--2', /unknown option/],
    ['--limit-usd 1.0000001', /"1.0000001" is not an amount in USD/],
    ['--limit-usd -1', /"-1" is not an amount in USD/],
    ['--limit-usd 1000000001', /is more than 1000000000 USD/],
    ['--name a', /must be a string of 2 to 3 characters/],
    ['--name abcd', /must be a string of 2 to 3 characters/],
    ['--day 12', /must be a day/],
    ['--code 7', /must be like \^\[a-z\]\+\$/],
    ['--rpm 0', /integer above 0, at most 60/],
    ['--rpm 61', /integer above 0, at most 60/],
    ['--rpm none', /integer above 0/],
    ['--height -1', /integer from 0/],
    ['--height 1e3', /integer from 0/],
    ['--height 1000000000', /integer from 0 to 999999999/],
    ['--expires 2027-02-30', /"2027-02-30" is not a date/],
    ['--since 2027-01-31T12:00', /is not a date/],
    ['--scope read all', /'all' is invalid.*read, money/],
    ['--model', /argument missing/],
  ];
  for (const [args, says] of refused)
    test(`not: ${args}`, async () => assert.match(String(await given(...args.split(' '))), says));
});
