import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { abuses, type Abuse } from './abuses.ts';
import { billerOf, NotTaken } from './bill.ts';
import { chatAbuses } from './chat-abuses.ts';
import { openChatWorld, type ChatWorld } from './chat-world.ts';
import { faultsIn, tableOf } from './table.ts';
import { openWorld, type Outcome, type World } from './world.ts';
import { film, picture } from '../upstreams/fakes/made.ts';

/**
 * No caller gets more from a vendor than they pay for. Tries every way to use or abuse each real
 * row on upstreams whose journal has the cost of each job by the vendor's own rules. `npm run
 * billing` prints the whole table.
 */
describe('every real row against every abuse', () => {
  let world: World;
  before(async () => void (world = await openWorld()));
  after(() => world.close());

  test('charges at least what its vendor takes', async () => {
    const outcomes = await world.run(abuses);
    assert.ok(world.rows.length > 50);
    const completed = outcomes.filter(({ status }) => status === 'COMPLETED');
    // If the service refused most abuses, the test would prove nothing.
    assert.ok(completed.length > outcomes.length * 0.8);
    assert.equal(tableOf(faultsIn(outcomes)), tableOf([]));
  });
});

describe('every chat row against every abuse', () => {
  let world: ChatWorld;
  before(async () => void (world = await openChatWorld()));
  after(() => world.close());

  test('charges at least what its vendor takes', async () => {
    const outcomes = await world.run(chatAbuses);
    assert.ok(world.rows.length > 20);
    const billed = outcomes.filter((each) => (each.billed ?? 0n) > 0n);
    assert.ok(billed.length > outcomes.length / 2);
    assert.equal(tableOf(faultsIn(outcomes)), tableOf([]));
  });
});

const files = new Map([
  ['short', film(2.1)],
  ['long', film(61)],
  ['strip', picture(30_000, 1_000)],
]);
const fal = (model: string, input: Record<string, unknown>) =>
  billerOf('fal')({ model: `fal-ai/${model}`, input }, files);

const bills: [what: string, usd: number, told: () => { usd: number }][] = [
  [
    'a begun block is whole',
    0.07,
    () => fal('kling-video/lipsync/text-to-video', { video_url: 'short' }),
  ],
  ['a field that was left out is as the vendor has it', 3.2, () => fal('veo3.1', {})],
  [
    'a side follows the caller’s picture',
    0.139968,
    () => fal('seedvr/upscale/image', { image_url: 'strip' }),
  ],
  ['a field that nobody asked the row about', 1.03, () => fal('flux-2-pro', { num_outputs: 97 })],
];
for (const [what, usd, told] of bills)
  test(`the journal: ${what}`, () => assert.equal(told().usd, usd));

test('the journal: what the vendor refuses costs nothing', () => {
  const input = { video_url: 'long' };
  assert.throws(() => fal('kling-video/lipsync/text-to-video', input), NotTaken);
  assert.throws(() => fal('no-such-model', {}), /no rule of fal for fal-ai\/no-such-model/);
});

const outcome = (more: Partial<Outcome>): Outcome => ({
  row: { id: 'a/row', cost_may_exceed: null } as Outcome['row'],
  abuse: { course: 'left alone' } as Abuse,
  status: 'COMPLETED',
  charged: 100n,
  billed: 100n,
  booked: null,
  cancelled: null,
  message: '',
  ...more,
});
const stated = { id: 'a/row', cost_may_exceed: 'Long prompts.' } as Outcome['row'];
const timedOut = { abuse: { course: 'timed out' } as Abuse, status: 'FAILED', charged: 0n };
const judged: [what: string, faults: number, outcome: Partial<Outcome>][] = [
  ['a charge at the cost', 0, {}],
  ['a charge below the cost', 1, { billed: 101n }],
  ['a failed request that cost something', 1, { status: 'FAILED', charged: 0n }],
  ['a charge below the cost, as the row says', 0, { billed: 101n, row: stated }],
  ['a refusal of what must be taken', 1, { status: 'refused', billed: null }],
  ['a time-out whose job was stopped', 0, { ...timedOut, cancelled: true }],
  ['a time-out whose job goes on', 1, { ...timedOut, cancelled: false }],
];
for (const [what, faults, more] of judged)
  test(`judged: ${what}`, () => assert.equal(faultsIn([outcome(more)]).length, faults));
