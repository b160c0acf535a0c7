import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redactInput } from './redact.ts';

const prompt = 'a secret plan for the lighthouse at dawn, told to nobody';

describe('a text for the log', () => {
  const table: [what: string, text: string, input: unknown, shown: string][] = [
    ['stays as it is where it repeats nothing', '503 from model', { prompt }, '503 from model'],
    ['loses a prompt', `bad prompt "${prompt}"!`, { prompt }, 'bad prompt "…"!'],
    ['loses a part of it', 'found: plan for the lighthouse', { prompt }, 'found:…'],
    ['loses a short one', 'no cats: cats', { prompt: 'cats' }, 'no …: …'],
    [
      'loses what lies deep',
      `no ${prompt}`,
      { messages: [{ content: [{ text: prompt }] }] },
      'no …',
    ],
    ['keeps short words that tell nothing', 'no 2k', { resolution: '2k' }, 'no 2k'],
  ];
  for (const [what, text, input, shown] of table) {
    test(what, () => assert.equal(redactInput(text, input), shown));
  }

  test('is short, and made in no time from the largest input', () => {
    const began = performance.now();
    const shown = redactInput('x'.repeat(1e6), { prompt: 'y'.repeat(1e7) });
    assert.equal(shown.length, 300);
    assert.ok(performance.now() - began < 1_000);
  });
});
