import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelPause, upstreamPause, withReply, type BusyReply } from './busy.ts';

const said = (model: string, account_id: string, at = 1_000): BusyReply => ({
  model,
  account_id,
  at,
});

const cases: [what: string, replies: BusyReply[], isWide: boolean, model: number, all: number][] = [
  ['one account, one model', [said('a', '1')], false, 5, 0],
  ['one account, however often', [said('a', '1'), said('a', '1')], false, 5, 0],
  ['one account, two models', [said('a', '1'), said('b', '1')], false, 5, 5],
  ['two accounts, one model', [said('a', '1'), said('a', '2')], false, 40, 40],
  ['two accounts, two models', [said('a', '1'), said('b', '2')], false, 40, 40],
  ['one account, of a limit of the whole account', [said('a', '1')], true, 5, 5],
];
for (const [what, replies, isWide, model, all] of cases) {
  test(`${what}: the model is paused ${model} s, the upstream ${all} s of 40`, () => {
    const since = replies.reduce<BusyReply[]>((before, reply) => withReply(before, reply), []);
    assert.deepEqual([modelPause(since, 40), upstreamPause(since, 40, isWide)], [model, all]);
  });
}

test('what was said ten minutes ago counts no longer, and no more than eight are kept', () => {
  assert.equal(withReply([said('a', '1', 300)], said('b', '2', 1_000)).length, 1);
  let replies: BusyReply[] = [];
  for (let i = 0; i < 20; i++) replies = withReply(replies, said('a', String(i)));
  assert.deepEqual([replies.length, replies.at(-1)!.account_id], [8, '19']);
});
