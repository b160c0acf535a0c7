import type { Size } from '../orders/size.ts';
import { between, hashText, noise, pick, randomFrom, type Random } from '../random.ts';
import { labelsOf } from './labels.ts';
import { mix, paletteFor, type Palette } from './palette.ts';
import { element, gradient, rounded, svgDocument } from './svg.ts';

/**
 * Draws a landscape for a prompt and a seed as SVG: a sky, a sun or moon, and ridges of land.
 * Lengths are thousandths of the height, and x is measured from the middle, so another width shows
 * more or less of the same landscape.
 */

/** An SVG document that shows the prompt as a label. Letters are paths, so no font is needed. */
export function drawLandscape(prompt: string, seed: number, size: Size): string {
  const title = element('title', {}, escaped(`Farebox sandbox: ${prompt}`));
  const labels = labelsOf(size, '', prompt).map(({ left, top, svg }) =>
    element('g', { transform: `translate(${left} ${top})` }, svg),
  );
  const inner = title + landscape(prompt, seed, size) + labels.join('');
  return svgDocument(size.width, size.height, inner);
}

/** The landscape without a title and labels. */
export function drawBareLandscape(prompt: string, seed: number, size: Size): string {
  return svgDocument(size.width, size.height, landscape(prompt, seed, size));
}

function landscape(prompt: string, seed: number, { width, height }: Size): string {
  const random = randomFrom(hashText(prompt.normalize('NFC').trim(), seed));
  const palette = paletteFor(prompt, random);
  const half = (500 * width) / height;
  const horizon = between(random, 560, 680);
  const layers = [
    drawSky(palette, horizon, half),
    palette.dark ? drawStars(palette, random) : '',
    drawSun(palette, horizon, half, random),
    drawLand(palette, horizon, half, random),
  ];
  const transform = `translate(${width / 2}) scale(${height / 1000})`;
  return element('g', { transform }, layers.join(''));
}

function drawSky({ sky }: Palette, horizon: number, half: number): string {
  const stops = sky.map((colour, i): [number, string] => [((i / 3) * horizon) / 1000, colour]);
  const place = { x: -half, y: 0, width: 2 * half, height: 1000 };
  return (
    gradient('linearGradient', { id: 'sky' }, stops) +
    element('rect', { ...place, fill: 'url(#sky)' })
  );
}

function drawStars({ light }: Palette, random: Random): string {
  const stars = Array.from({ length: 150 }, () => {
    const y = random() ** 1.3 * 700;
    const look = { r: 0.8 + random() ** 6 * 2, 'fill-opacity': random() * (1 - y / 1000) };
    return element('circle', { cx: between(random, -1, 1) * 900, cy: y, ...look });
  });
  return element('g', { fill: light }, stars.join(''));
}

function drawSun({ light, dark }: Palette, horizon: number, half: number, random: Random): string {
  const cx = between(random, 0.1, 0.6) * pick(random, [-1, 1]) * half;
  const cy = horizon - between(random, 90, dark ? 400 : 280);
  const strength = dark ? 0.6 : 1;
  const glow = gradient('radialGradient', { id: 'glow' }, [
    [0, light, 0.7 * strength],
    [0.15, light, 0.5 * strength],
    [0.4, light, 0.17 * strength],
    [1, light, 0],
  ]);
  const r = dark ? between(random, 28, 50) : between(random, 50, 95);
  return (
    glow +
    element('circle', { cx, cy, r: 650, fill: 'url(#glow)' }) +
    element('circle', { cx, cy, r, fill: light })
  );
}

/** Ridges one in front of another: each is darker, and fades into the mist at its foot. */
function drawLand(palette: Palette, horizon: number, half: number, random: Random): string {
  const count = 5;
  const rough = between(random, 0, 1);
  const height = between(random, 150, 380);
  const row = Math.floor(random() * 65_536);
  return Array.from({ length: count }, (_, i) => {
    const depth = i / (count - 1);
    const base = horizon + depth * (950 - horizon) * 0.85;
    const tall = height * (1 - depth * 0.5);
    const edge = (x: number) => base - tall * ridge(x / (900 - 300 * depth), row + i * 100, rough);
    let d = `M${rounded(-half)} 1000`;
    for (let x = -half; x < half + 6; x += 6) d += `L${rounded(x)} ${rounded(edge(x))}`;
    const top = mix(palette.far, palette.near, depth ** 1.1);
    const foot = mix(top, palette.sky[3], 0.5 - depth * 0.35);
    const place = {
      id: `land${i}`,
      gradientUnits: 'userSpaceOnUse',
      y1: base - tall,
      y2: base + 60,
    };
    const stops: [number, string][] = [
      [0, top],
      [1, foot],
    ];
    const fill = `url(#land${i})`;
    return gradient('linearGradient', place, stops) + element('path', { d: `${d}V1000Z`, fill });
  }).join('');
}

/** Height of a ridge at `x`, 0 to 1: soft hills, or the more peaks the rougher it is. */
function ridge(x: number, row: number, rough: number): number {
  const soft = 0.6 * noise(x, row) + 0.3 * noise(2.3 * x, row + 1);
  const folded = 1 - Math.abs(2 * noise(1.4 * x, row + 2) - 1);
  const fine = 0.14 * noise(5 * x, row + 3) + 0.08 * noise(12 * x, row + 4);
  const peaks = (0.75 * folded + fine) * (0.4 + 0.6 * noise(0.8 * x, row + 5));
  return 0.1 + soft + (peaks - soft) * rough;
}

function escaped(text: string): string {
  const safe = text.slice(0, 500).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '');
  return safe.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
