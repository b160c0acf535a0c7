import type { Size } from '../orders/size.ts';
import { between, hashText, lattice, noise, randomFrom } from '../random.ts';
import type { Random } from '../random.ts';
import { labelsOf } from './labels.ts';
import { drawLand } from './land.ts';
import { mix, sceneOf } from './scene.ts';
import type { Scene } from './scene.ts';
import { element, gradient, rounded, svgDocument } from './svg.ts';

/**
 * Draws the landscape for a prompt and a seed as SVG. Lengths are thousandths of the height, and x
 * is measured from the middle, so another width shows more or less of the same landscape.
 */

const layers = [
  drawSky,
  drawStars,
  drawAurora,
  drawSun,
  drawClouds,
  drawLights,
  drawBirds,
  drawLand,
  drawWater,
  drawLighthouse,
];

/** An SVG document that shows the prompt as a label. Letters are paths, so no font is needed. */
export function drawLandscape(prompt: string, seed: number, size: Size): string {
  const title = element('title', {}, escaped(`Farebox sandbox: ${prompt}`));
  const labels = labelsOf(size, '', prompt).map(({ left, top, svg }) =>
    element('g', { transform: `translate(${left} ${top})` }, svg),
  );
  const inner = title + landscape(sceneOf(prompt, seed), size) + labels.join('');
  return svgDocument(size.width, size.height, inner);
}

/** The landscape without a title and labels. */
export function drawBareLandscape(prompt: string, seed: number, size: Size): string {
  return svgDocument(size.width, size.height, landscape(sceneOf(prompt, seed), size));
}

function landscape(scene: Scene, { width, height }: Size): string {
  const half = (500 * width) / height;
  const transform = `translate(${width / 2}) scale(${height / 1000})`;
  return element('g', { transform }, layers.map((draw) => draw(scene, half)).join(''));
}

function drawSky({ palette, kind, horizon }: Scene, half: number): string {
  const span = kind === 'lights' ? 1 : horizon;
  const stops = palette.sky.map((colour, i): [number, string] => [(i / 3) * span, colour]);
  return gradient('linearGradient', { id: 'sky' }, stops) + ground(half, 0, 'url(#sky)');
}

function drawStars({ palette, seed }: Scene, half: number): string {
  if (!palette.dark) return '';
  const random = randomOf('stars', seed);
  const stars = Array.from({ length: 170 }, () => {
    const y = random() ** 1.3 * 700;
    return element('circle', {
      cx: across(random, half),
      cy: y,
      r: 0.8 + random() ** 6 * 2,
      'fill-opacity': (0.3 + 0.7 * random()) * (1 - y / 1000),
    });
  });
  return element('g', { fill: palette.light }, stars.join(''));
}

/** Curtains of light: many overlapping strips that are bright at the lower edge. */
function drawAurora({ aurora, palette, seed }: Scene, half: number): string {
  if (!aurora) return '';
  const veil = gradient('linearGradient', { id: 'veil' }, [
    [0, palette.accent, 0],
    [0.8, palette.accent, 1],
    [1, palette.accent, 0],
  ]);
  const strips: string[] = [];
  for (let x = -half - 60; x < half; x += 15) {
    const hem = 250 + 330 * noise(x / 700, seed);
    const rays = noise(x / 45, seed + 11) * noise(x / 130, seed + 12);
    const height = hem * (0.55 + 0.45 * noise(x / 90, seed + 13));
    const place = { x, y: hem - height, width: 60, height };
    strips.push(
      element('rect', { ...place, fill: 'url(#veil)', 'fill-opacity': 0.04 + 0.3 * rays }),
    );
  }
  return veil + strips.join('');
}

function drawSun({ kind, palette, sun }: Scene, half: number): string {
  if (kind === 'lights') return '';
  const { light } = palette;
  const strength = palette.dark ? 0.6 : 1;
  const glow = gradient('radialGradient', { id: 'glow' }, [
    [0, light, 0.7 * strength],
    [0.15, light, 0.5 * strength],
    [0.4, light, 0.17 * strength],
    [0.7, light, 0.04 * strength],
    [1, light, 0],
  ]);
  const place = { cx: sun.x * half, cy: sun.y * 1000 };
  return (
    glow +
    element('circle', { ...place, r: 650, fill: 'url(#glow)' }) +
    element('circle', { ...place, r: sun.radius * 1000, fill: light, 'fill-opacity': 0.97 })
  );
}

/** Soft clouds, flatter towards the horizon. */
function drawClouds({ kind, palette, horizon, seed }: Scene, half: number): string {
  if (kind === 'lights') return '';
  const random = randomOf('clouds', seed);
  const colour = palette.dark ? palette.sky[3] : palette.light;
  const soft = gradient('radialGradient', { id: 'cloud' }, [
    [0, colour, palette.dark ? 0.16 : 0.5],
    [1, colour, 0],
  ]);
  const puffs: string[] = [];
  for (let cloud = 0; cloud < 8; cloud++) {
    const share = 0.25 + 0.7 * random();
    const wide = between(random, 90, 260);
    const x = across(random, half);
    for (let puff = 0; puff < 6; puff++) {
      const rx = wide * between(random, 0.4, 0.9);
      puffs.push(
        element('ellipse', {
          cx: x + wide * between(random, -1, 1),
          cy: share * horizon * 900 + wide * between(random, -0.12, 0.12),
          rx,
          ry: rx * (0.36 - 0.28 * share),
          fill: 'url(#cloud)',
        }),
      );
    }
  }
  return soft + puffs.join('');
}

/** Lights out of focus: large, soft lights behind small, sharp ones. */
function drawLights({ kind, palette, seed }: Scene, half: number): string {
  if (kind !== 'lights') return '';
  const random = randomOf('lights', seed);
  const colours = [palette.accent, palette.light, palette.sky[3], palette.sky[2]];
  const soft = colours.map((colour, i) =>
    gradient('radialGradient', { id: `light${i}` }, [
      [0, colour],
      [1, colour, 0],
    ]),
  );
  const lights = Array.from({ length: 50 }, (_, i) => {
    const place = { cx: across(random, half), cy: between(random, 50, 950) };
    const colour = Math.floor(random() * colours.length);
    if (i < 12) {
      const look = { fill: `url(#light${colour})`, 'fill-opacity': between(random, 0.25, 0.55) };
      return element('circle', { ...place, r: between(random, 220, 500), ...look });
    }
    const look = { fill: colours[colour]!, 'fill-opacity': between(random, 0.15, 0.6) };
    return element('circle', { ...place, r: 12 + random() ** 2 * 85, ...look });
  });
  return soft.join('') + lights.join('');
}

function drawBirds({ kind, palette, seed }: Scene, half: number): string {
  const random = randomOf('birds', seed);
  if (palette.dark || kind === 'lights' || random() < 0.35) return '';
  const x = between(random, -0.5, 0.5) * half;
  const y = between(random, 160, 340);
  const birds = Array.from({ length: 3 + Math.floor(random() * 4) }, () => {
    const place = [x + between(random, -160, 160), y + between(random, -50, 50)].map(rounded);
    const size = between(random, 12, 24);
    const wing = `${rounded(size * 0.5)} ${rounded(-size * 0.5)}`;
    const flap = `q${wing} ${rounded(size)} 0q${wing} ${rounded(size)} 0`;
    return `M${place.join(' ')}${flap}`;
  });
  return strokes(birds.join(''), palette.near, 3, 0.8);
}

/** Water takes its colours from the sky above it and glitters under the sun. */
function drawWater({ kind, palette, horizon, sun, seed }: Scene, half: number): string {
  if (kind !== 'sea') return '';
  const shore = horizon * 1000;
  const deep = mix(palette.near, palette.sky[0], 0.45);
  const colours = gradient('linearGradient', { id: 'water' }, [
    [0, mix(palette.sky[3], deep, 0.22)],
    [0.25, mix(palette.sky[2], deep, 0.4)],
    [1, mix(palette.sky[0], deep, 0.7)],
  ]);
  let waves = '';
  let glints = '';
  for (let i = 0; i < 90; i++) {
    const depth = (i + 0.6) / 90;
    const y = rounded(shore + depth ** 1.6 * (1000 - shore));
    const own = (nth: number) => lattice(i, seed + nth);
    const wave = 60 + 260 * depth * own(1);
    waves += `M${rounded((2 * own(2) - 1) * half - wave / 2)} ${y}h${rounded(wave)}`;
    const glint = (10 + 150 * depth) * (0.3 + 0.7 * own(3));
    const aside = (own(4) - 0.5) * 60 * depth;
    glints += `M${rounded(sun.x * half + aside - glint / 2)} ${y}h${rounded(glint)}`;
  }
  return (
    colours +
    ground(half, shore, 'url(#water)') +
    strokes(waves, palette.near, 2.5, 0.16) +
    strokes(glints, palette.light, 4, 0.6)
  );
}

/**
 * A lighthouse on the side opposite the sun. Lengths are shares of its height, measured from the
 * lantern.
 */
function drawLighthouse({ lighthouse, palette, horizon, sun }: Scene, half: number): string {
  if (!lighthouse) return '';
  const tall = 420;
  const x = (sun.x > 0 ? -0.45 : 0.45) * half;
  const shape = (d: string, fill: string): string => element('path', { d, fill });
  const red = mix('#c4342c', palette.near, 0.22);
  const pale = mix(palette.light, palette.sky[2], 0.12);
  const beam = gradient('radialGradient', { id: 'beam', cx: 0.5, cy: 0.5 }, [
    [0, palette.light, 0.8],
    [0.4, palette.light, 0.25],
    [1, palette.light, 0],
  ]);
  const parts = [
    beam,
    shape('M0 0L2.2-.3V.02ZM0 0L-2.2-.3V.02Z', 'url(#beam)'),
    shape('M-.5 1.06L-.36.93-.22.95-.12.86.2.87.3.94.42.92.56 1.06Z', palette.near),
    shape('M-.046.07H.046L.082.86H-.082Z', pale),
    shape('M-.053.228H.053L.06.386H-.06ZM-.068.544H.068L.075.702H-.075Z', red),
    element('path', { d: 'M.012.07H.046L.082.86H.02Z', 'fill-opacity': 0.2 }),
    shape('M-.066.05H.066V.07H-.066ZM-.04-.04H.04V-.03H-.04Z', palette.near),
    shape('M-.03-.03H.03V.05H-.03Z', palette.accent),
    shape('M0-.12L.052-.04H-.052Z', red),
    element('circle', { r: 0.16, fill: 'url(#beam)' }),
  ];
  const place = `translate(${rounded(x)} ${rounded(horizon * 1000 - tall * 0.95)})`;
  return element('g', { transform: `${place} scale(${tall})` }, parts.join(''));
}

function ground(half: number, y: number, fill: string): string {
  return element('rect', { x: -half, y, width: 2 * half, height: 1000 - y, fill });
}

function strokes(d: string, stroke: string, width: number, opacity: number): string {
  const round = { 'stroke-linecap': 'round', 'stroke-linejoin': 'round' };
  const line = { stroke, 'stroke-width': width, 'stroke-opacity': opacity };
  return element('path', { d, fill: 'none', ...line, ...round });
}

/** Each layer has its own random numbers, so a layer can change without changing the others. */
function randomOf(layer: string, seed: number): Random {
  return randomFrom(hashText(layer, seed));
}

/** A random x in the image, or in a narrow image also beyond its sides. */
function across(random: Random, half: number): number {
  return between(random, -1, 1) * Math.max(half, 900);
}

function escaped(text: string): string {
  const safe = text.slice(0, 500).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '');
  return safe.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
