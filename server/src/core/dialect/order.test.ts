import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Delta } from './deltas.ts';
import { inOrder } from './order.ts';

interface Event {
  index: number;
  is: 'begin' | 'piece' | 'end';
  /** Only pieces have one. */
  delta?: Delta;
  isWhole?: boolean;
}

/** Entries of texts and of calls. Texts in a row belong together. */
const open = () =>
  inOrder<Event>((delta, index) => {
    if (delta.type === 'finish') return null;
    const call = delta.type === 'call' ? delta.call : null;
    return {
      takes: (next) => (call === null ? next.type === 'text' : isOf(next, call)),
      begin: () => [{ index, is: 'begin' }],
      add: (next) => [{ index, is: 'piece', delta: next }],
      end: (isWhole) => [{ index, is: 'end', isWhole }],
    };
  });

const isOf = (delta: Delta, call: number) =>
  (delta.type === 'input' || delta.type === 'call') && delta.call === call;
const text = (value: string): Delta => ({ type: 'text', text: value, logprobs: [] });
const begin = (call: number): Delta => ({
  type: 'call',
  call,
  kind: 'function',
  id: null,
  name: 'f',
});
const input = (call: number, value: string): Delta => ({ type: 'input', call, text: value });

function eventsOf(deltas: Delta[], isWhole = true): Event[] {
  const order = open();
  return [...deltas.flatMap(order.add), ...order.end(isWhole)];
}

/** A call begins with its first piece; null stands for a text. */
const replies = fc
  .array(fc.tuple(fc.constantFrom(null, null, 0, 1, 2, 7), fc.string()), { maxLength: 30 })
  .map((steps) => {
    const begun = new Set<number>();
    return steps.flatMap(([call, value]): Delta[] => {
      if (call === null) return [text(value)];
      const first = begun.has(call) ? [] : [begin(call)];
      begun.add(call);
      return [...first, input(call, value)];
    });
  });

describe('the entries of any reply', () => {
  const property = (holds: (deltas: Delta[], events: Event[]) => void) =>
    fc.assert(
      fc.property(replies, (deltas) => holds(deltas, eventsOf(deltas))),
      { seed: 18, numRuns: 300 },
    );

  test('lose no piece, and keep the order of the texts and of each call', () => {
    property((deltas, events) => {
      const pieces = events.flatMap(({ delta }) => delta ?? []);
      assert.equal(pieces.length, deltas.length);
      for (const call of [0, 1, 2, 7])
        assert.deepEqual(
          pieces.filter((each) => isOf(each, call)),
          deltas.filter((each) => isOf(each, call)),
        );
      const texts = (list: Delta[]) => list.filter(({ type }) => type === 'text');
      assert.deepEqual(texts(pieces), texts(deltas));
    });
  });

  test('are one after the other, with dense indices, and all end', () => {
    property((_, events) => {
      let index = -1;
      let isOpen = false;
      for (const event of events) {
        if (event.is === 'begin') index++;
        assert.deepEqual([event.index, isOpen], [index, event.is !== 'begin']);
        isOpen = event.is !== 'end';
      }
      assert.ok(!isOpen);
    });
  });

  test('hold one call each', () => {
    property((deltas, events) => {
      const begun = events.filter(({ delta }) => delta?.type === 'call');
      assert.equal(begun.length, deltas.filter(({ type }) => type === 'call').length);
      for (const { index, delta, is } of events)
        if (is === 'piece' && delta?.type === 'input')
          assert.deepEqual(
            begun
              .filter((each) => each.index === index)
              .map((each) => isOf(each.delta!, delta.call)),
            [true],
          );
    });
  });
});

test('texts and the pieces of the first call are written at once, others at the end', () => {
  const order = open();
  const written = (delta: Delta) => order.add(delta).flatMap((each) => each.delta ?? []);
  for (const now of [text('a'), text('b'), begin(1), input(1, 'c')])
    assert.deepEqual(written(now), [now]);
  const later = [text('d'), begin(0), input(0, 'e'), text('f'), input(0, 'g')];
  for (const each of later) assert.deepEqual(written(each), []);
  const last = input(1, 'h');
  assert.deepEqual(written(last), [last]);
  const [d, zero, e, f, g] = later;
  const rest = order.end(true).flatMap(({ delta }) => delta ?? []);
  assert.deepEqual(rest, [d, zero, e, g, f]);
  assert.deepEqual(order.end(true), []);
});

test('only the last entry is incomplete if the reply is', () => {
  const deltas = [text('a'), begin(0), begin(1), text('b')];
  const ends = eventsOf(deltas, false).flatMap(({ isWhole }) => isWhole ?? []);
  assert.deepEqual(ends, [true, true, true, false]);
});

test('more pieces may wait than a call can have arguments', () => {
  const order = open();
  order.add(begin(0));
  const piece = input(1, 'a');
  order.add(begin(1));
  for (let i = 0; i < 300_000; i++) order.add(piece);
  assert.equal(order.end(true).length, 300_004);
});
