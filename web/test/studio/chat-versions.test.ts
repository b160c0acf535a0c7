/** Versions of a conversation: what was asked and answered before is never lost. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { branchedAt, everyMessage, switchedTo, versionOf } from '../../src/studio/chat/branches.ts';
import { inAll, type Message } from '../../src/studio/chat/conversations.ts';

const message = (id: string): Message => ({
  id,
  role: id.startsWith('q') ? 'user' : 'assistant',
  content: id,
});
const of = (...ids: string[]) => ({ messages: ids.map(message) });
const shown = ({ messages }: { messages: Message[] }) => messages.map(({ id }) => id).join(' ');
const added = <T extends { messages: Message[] }>(to: T, ...ids: string[]): T => ({
  ...to,
  messages: [...to.messages, ...ids.map(message)],
});

describe('a conversation that was cut off before a message', () => {
  const changed = added(branchedAt(of('q1', 'a1', 'q2', 'a2'), 'q2'), 'q3', 'a3');

  test('shows the new version, and finds the former beside it', () => {
    assert.equal(shown(changed), 'q1 a1 q3 a3');
    assert.deepEqual(versionOf(changed, 2), { before: 'a1', at: 1, count: 2 });
    assert.equal(versionOf(changed, 1), null);
    const back = switchedTo(changed, 'a1', 0);
    assert.equal(shown(back), 'q1 a1 q2 a2');
    assert.deepEqual(switchedTo(back, 'a1', 1), changed);
  });

  test('keeps versions within versions', () => {
    const twice = added(branchedAt(changed, 'a3'), 'a4');
    const first = added(branchedAt(twice, 'q1'), 'q5');
    assert.equal(shown(first), 'q5');
    const back = switchedTo(first, '', 0);
    assert.equal(shown(back), 'q1 a1 q3 a4');
    assert.equal(shown(switchedTo(switchedTo(back, 'q3', 0), 'a1', 0)), 'q1 a1 q2 a2');
    const ids = everyMessage(first).map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), ['a1', 'a2', 'a3', 'a4', 'q1', 'q2', 'q3', 'q5']);
  });

  test('changes a message in whichever version it is', () => {
    const paid = inAll(changed, (messages) =>
      messages.map((each) => (each.id === 'a2' ? { ...each, cost_usd_micro: '7' } : each)),
    );
    assert.equal(shown(paid), shown(changed));
    assert.equal(switchedTo(paid, 'a1', 0).messages[3]!.cost_usd_micro, '7');
  });
});

test('what names no message or no version changes nothing', () => {
  const plain = of('q1', 'a1');
  assert.equal(shown(branchedAt(plain, 'q9')), 'q1 a1');
  const changed = added(branchedAt(plain, 'a1'), 'a2');
  for (const [before, to] of [
    ['q1', 1],
    ['q1', 5],
    ['q1', -1],
    ['a9', 0],
    ['', 0],
  ] as const)
    assert.equal(shown(switchedTo(changed, before, to)), 'q1 a2', `${before} ${to}`);
});
