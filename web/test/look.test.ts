/** The colours of the look can be told apart, in light and in dark. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const tokens = readFileSync(join(import.meta.dirname, '../src/look/tokens.css'), 'utf8');
const colour = String.raw`#fff|oklch\([^)]*\)`;
const pairs = new Map(
  [
    ...tokens.matchAll(new RegExp(`--([\\w-]+): light-dark\\((${colour}), (${colour})\\)`, 'g')),
  ].map(([, name, light, dark]) => [name!, { light: luminance(light!), dark: luminance(dark!) }]),
);

/** The relative luminance of WCAG. */
function luminance(text: string): number {
  if (text === '#fff') return 1;
  const [l = 0, c = 0, h = 0] = text.match(/[\d.]+/g)!.map(Number);
  const [a, b] = [c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];
  const [x, y, z] = [
    (l + 0.3963377774 * a + 0.2158037573 * b) ** 3,
    (l - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    (l - 0.0894841775 * a - 1.291485548 * b) ** 3,
  ];
  const linear = [
    4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
    -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
    -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z,
  ].map((each) => Math.min(1, Math.max(0, each)));
  return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
}

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const grounds = ['n1', 'n2', 'n3', 'raised'];
const least: [what: string, front: string[], grounds: string[], ratio: number][] = [
  ['quiet text', ['n9', 'n10', 'n12', 'a11', 'good', 'warn', 'bad'], grounds, 4.5],
  ['the ring of the focus', ['a9'], [...grounds, 'n4'], 3],
  ['the text of a chosen item', ['n12'], ['n4'], 4.5],
];

for (const scheme of ['light', 'dark'] as const) {
  for (const [what, fronts, on, ratio] of least)
    test(`${what} is seen, in ${scheme}`, () => {
      for (const front of fronts)
        for (const ground of on) {
          const found = contrast(pairs.get(front)![scheme], pairs.get(ground)![scheme]);
          assert.ok(found >= ratio, `${front} on ${ground}: ${found.toFixed(2)}`);
        }
    });
}

test('in the dark what is chosen is lighter than its ground', () => {
  for (const ground of grounds) assert.ok(pairs.get('n4')!.dark > pairs.get(ground)!.dark, ground);
});
