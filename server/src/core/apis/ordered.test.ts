import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { ReplyEvent } from '../chat/reply.ts';
import { inOrder } from './ordered.ts';

interface Event {
  index: number;
  is: 'begin' | 'piece' | 'end';
  /** Only pieces have one. */
  piece?: ReplyEvent;
  isWhole?: boolean;
}

/** Entries of texts and of calls. Texts in a row belong together. */
const open = () =>
  inOrder<Event>((piece, index) => {
    if (piece.type === 'end') return null;
    const call = piece.type === 'call' ? piece.call : null;
    return {
      takes: (next) => (call === null ? next.type === 'text' : isOf(next, call)),
      begin: () => [{ index, is: 'begin' }],
      add: (next) => [{ index, is: 'piece', piece: next }],
      end: (isWhole) => [{ index, is: 'end', isWhole }],
    };
  });

const isOf = (piece: ReplyEvent, call: number) =>
  (piece.type === 'input' || piece.type === 'call') && piece.call === call;
const text = (value: string): ReplyEvent => ({ type: 'text', text: value, logprobs: null });
const begin = (call: number): ReplyEvent => ({
  type: 'call',
  call,
  id: `c${call}`,
  name: 'f',
  custom: false,
});
const input = (call: number, value: string): ReplyEvent => ({ type: 'input', call, text: value });

function eventsOf(pieces: ReplyEvent[], isWhole = true): Event[] {
  const order = open();
  return [...pieces.flatMap(order.add), ...order.end(isWhole)];
}

/** A call begins with its first piece; null stands for a text. */
const replies = fc
  .array(fc.tuple(fc.constantFrom(null, null, 0, 1, 2, 7), fc.string()), { maxLength: 30 })
  .map((steps) => {
    const begun = new Set<number>();
    return steps.flatMap(([call, value]): ReplyEvent[] => {
      if (call === null) return [text(value)];
      const first = begun.has(call) ? [] : [begin(call)];
      begun.add(call);
      return [...first, input(call, value)];
    });
  });

describe('the entries of any reply', () => {
  const property = (holds: (pieces: ReplyEvent[], events: Event[]) => void) =>
    fc.assert(
      fc.property(replies, (pieces) => holds(pieces, eventsOf(pieces))),
      { seed: 18, numRuns: 300 },
    );

  test('lose no piece, and keep the order of the texts and of each call', () => {
    property((pieces, events) => {
      const written = events.flatMap(({ piece }) => piece ?? []);
      assert.equal(written.length, pieces.length);
      for (const call of [0, 1, 2, 7])
        assert.deepEqual(
          written.filter((each) => isOf(each, call)),
          pieces.filter((each) => isOf(each, call)),
        );
      const texts = (list: ReplyEvent[]) => list.filter(({ type }) => type === 'text');
      assert.deepEqual(texts(written), texts(pieces));
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
    property((pieces, events) => {
      const begun = events.filter(({ piece }) => piece?.type === 'call');
      assert.equal(begun.length, pieces.filter(({ type }) => type === 'call').length);
      for (const { index, piece, is } of events)
        if (is === 'piece' && piece?.type === 'input')
          assert.deepEqual(
            begun
              .filter((each) => each.index === index)
              .map((each) => isOf(each.piece!, piece.call)),
            [true],
          );
    });
  });
});

test('texts and the pieces of the first call are written at once, others at the end', () => {
  const order = open();
  const written = (piece: ReplyEvent) => order.add(piece).flatMap((each) => each.piece ?? []);
  for (const now of [text('a'), text('b'), begin(1), input(1, 'c')])
    assert.deepEqual(written(now), [now]);
  const later = [text('d'), begin(0), input(0, 'e'), text('f'), input(0, 'g')];
  for (const each of later) assert.deepEqual(written(each), []);
  const last = input(1, 'h');
  assert.deepEqual(written(last), [last]);
  const [d, zero, e, f, g] = later;
  const rest = order.end(true).flatMap(({ piece }) => piece ?? []);
  assert.deepEqual(rest, [d, zero, e, g, f]);
  assert.deepEqual(order.end(true), []);
});

test('only the last entry is incomplete if the reply is', () => {
  const pieces = [text('a'), begin(0), begin(1), text('b')];
  const ends = eventsOf(pieces, false).flatMap(({ isWhole }) => isWhole ?? []);
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
