import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayLack, restoredWhy, type Installation } from './restored.ts';

const row: Installation = {
  id: 'one',
  beat: 1_000,
  beat_age_seconds: 10,
  is_original: true,
  timeline: 1,
};
const knows = (beat: number, id = 'one') => ({ id, beat });

const cases: [
  what: string,
  row: Partial<Installation>,
  remembered: { id: string; beat: number } | null,
  timeline: number | null,
  why: ReturnType<typeof restoredWhy>,
][] = [
  ['as it was left', {}, knows(1_000), 1, null],
  ['as it was left, on a new machine', {}, null, 1, null],
  ['stopped for a week', { beat_age_seconds: 600_000 }, null, 1, null],
  [
    'written by another transaction or in another database',
    { is_original: false },
    null,
    1,
    'copy',
  ],
  ['the same, however well it is known', { is_original: false }, knows(1_000), 1, 'copy'],
  ['back by an hour', {}, knows(1_360), 1, 'rewound'],
  ['back by an hour, on a new timeline', {}, knows(1_360), 2, 'rewound'],
  ['a standby took over', {}, null, 2, null],
  ['a standby took over that lacked the newest', {}, knows(1_006), 2, null],
  ['a standby took over late', { beat_age_seconds: 3_000 }, knows(1_000), 2, null],
  ['a new timeline late, and nobody remembers', { beat_age_seconds: 301 }, null, 2, 'timeline'],
  ['what is remembered is of another', { beat: 3 }, knows(1_000, 'two'), 1, null],
  ['no timeline is told', { beat_age_seconds: 3_000 }, null, null, null],
  ['none was told before', { beat_age_seconds: 3_000, timeline: null }, null, 2, null],
];

for (const [what, more, remembered, timeline, why] of cases) {
  test(`${what}: ${why ?? 'goes on'}`, () => {
    assert.equal(restoredWhy({ ...row, ...more }, remembered, timeline), why);
  });
}

test('a database lacks something if it is behind what is remembered, or on a new timeline', () => {
  const asked = [
    mayLack(row, knows(1_000), 1),
    mayLack(row, knows(1_001, 'two'), 1),
    mayLack(row, null, null),
    mayLack(row, knows(1_001), 1),
    mayLack(row, null, 2),
  ];
  assert.deepEqual(asked, [false, false, false, true, true]);
});
