import { planLabels } from './label.ts';
import { edgeAt } from './land.ts';
import { linePath } from './lettering.ts';
import { hex, mix } from './palette.ts';
import { lattice } from './random.ts';
import type { Ridge, Scene } from './scene.ts';

/** Draws a scene as an SVG document: the painted picture's composition, in clean shapes. */

const EDGE_POINTS = 150;

/** SVG text of a scene at the given size, in pixels; letters are paths, so no font is needed. */
export function drawVector(scene: Scene, width: number, height: number, prompt: string): string {
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"` +
      ` viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escape(`Farebox sandbox: ${prompt}`)}</title>`,
    definitions(scene),
    tag('rect', { width, height, fill: 'url(#sky)' }),
    scene.aurora ? aurora(scene, width, height) : '',
    stars(scene, width, height),
    scene.kind === 'lights' ? '' : sun(scene, width, height),
    orbs(scene, width, height),
    birds(scene, width, height),
    ...scene.ridges.map((ridge) => land(scene, ridge, width, height)),
    scene.water ? water(scene, width, height) : '',
    lighthouse(scene, width, height),
    labels(width, height, prompt),
    '</svg>',
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function definitions(scene: Scene): string {
  const span = scene.kind === 'lights' ? 1 : scene.horizon;
  const light = hex(scene.palette.light);
  const stop = (offset: number, colour: string, opacity = 1): string =>
    tag('stop', { offset, 'stop-color': colour, 'stop-opacity': opacity });
  const sky = scene.palette.sky.map((colour, i) => stop((i / 3) * span, hex(colour)));
  const glow = stop(0, light, 0.6) + stop(0.4, light, 0.2) + stop(1, light, 0);
  const foot = stop(0, '#000', 0) + stop(1, '#000', 0.6);
  const accent = hex(scene.palette.accent);
  const veil = stop(0, accent, 0) + stop(0.85, accent, 1) + stop(1, accent, 0);
  const down = { x1: 0, y1: 0, x2: 0, y2: 1 };
  return [
    '<defs>',
    tag('linearGradient', { id: 'sky', ...down }, sky.join('')),
    tag('radialGradient', { id: 'glow' }, glow),
    tag('linearGradient', { id: 'foot', ...down }, foot),
    tag('linearGradient', { id: 'veil', ...down }, veil),
    '</defs>',
  ].join('');
}

function sun(scene: Scene, width: number, height: number): string {
  const { sun, palette } = scene;
  const place = { cx: width / 2 + (sun.x * width) / 2, cy: sun.y * height };
  return (
    tag('circle', { ...place, r: sun.glow * 1.7 * height, fill: 'url(#glow)' }) +
    tag('circle', { ...place, r: sun.radius * height, fill: hex(palette.light) })
  );
}

function stars(scene: Scene, width: number, height: number): string {
  if (scene.stars.length === 0) return '';
  const dots = scene.stars.slice(0, 140).map((star) =>
    tag('circle', {
      cx: width / 2 + star.x * height,
      cy: star.y * height,
      r: Math.max(0.5, star.size * height * 1.2),
      opacity: star.light * (1 - star.y),
    }),
  );
  return tag('g', { fill: hex(scene.palette.light) }, dots.join(''));
}

function aurora(scene: Scene, width: number, height: number): string {
  const bands = Array.from({ length: 26 }, (_, i) => {
    const hem = (0.36 + 0.16 * Math.sin(i * 0.45 + scene.seed)) * height;
    const high = hem * (0.45 + 0.5 * lattice(i, scene.seed));
    return tag('rect', {
      x: (i / 26) * width - width / 18,
      y: hem - high,
      width: width / 9,
      height: high,
      fill: 'url(#veil)',
      opacity: 0.06 + 0.22 * lattice(i, scene.seed + 5),
    });
  });
  return bands.join('');
}

function orbs(scene: Scene, width: number, height: number): string {
  const made = scene.orbs.map((orb) =>
    tag('circle', {
      cx: width / 2 + (orb.x * width) / 2,
      cy: orb.y * height,
      r: orb.radius * height,
      fill: hex(orb.colour),
      opacity: orb.strength * 0.7,
    }),
  );
  return made.join('');
}

function birds(scene: Scene, width: number, height: number): string {
  if (scene.birds.length === 0) return '';
  const wings = scene.birds.map((bird) => {
    const x = width / 2 + bird.x * height;
    const y = bird.y * height;
    const s = bird.size * height;
    const at = (dx: number, dy: number): string => `${near(x + dx * s)} ${near(y + dy * s)}`;
    return `M${at(-1, -0.4)}Q${at(-0.5, -0.9)} ${at(0, 0)}Q${at(0.5, -0.9)} ${at(1, -0.4)}`;
  });
  return strokes(wings.join(''), hex(scene.palette.near), height * 0.003);
}

function land(scene: Scene, ridge: Ridge, width: number, height: number): string {
  const foot = near(scene.water ? scene.horizon * height : height);
  const fine = ridge.shape === 'trees' || ridge.shape === 'blocks';
  const points = fine ? EDGE_POINTS * 3 : EDGE_POINTS;
  let path = `M0 ${foot}`;
  let before = 0;
  for (let i = 0; i <= points; i++) {
    const x = (i / points) * width;
    const y = near(edgeAt(ridge, (x - width / 2) / height) * height);
    // Houses have upright walls.
    if (ridge.shape === 'blocks' && i > 0) path += `L${near(x)} ${before}`;
    path += `L${near(x)} ${y}`;
    before = y;
  }
  return tag('path', { d: `${path}L${width} ${foot}Z`, fill: hex(ridge.top) });
}

function water(scene: Scene, width: number, height: number): string {
  const { palette } = scene;
  const top = scene.horizon * height;
  const colour = mix(mix(palette.sky[2], palette.sky[1], 0.5), palette.near, 0.35);
  const middle = width / 2 + (scene.sun.x * width) / 2;
  let glints = '';
  for (let i = 0; i < 26; i++) {
    const depth = (i + 0.6) / 26;
    const half = (0.012 + 0.16 * depth * lattice(i, scene.seed)) * height;
    const y = near(top + depth ** 1.5 * (height - top));
    glints += `M${near(middle - half)} ${y}L${near(middle + half)} ${y}`;
  }
  return (
    tag('rect', { y: top, width, height: height - top, fill: hex(colour) }) +
    strokes(glints, hex(palette.light), height * 0.004, 0.75)
  );
}

function lighthouse({ lighthouse: house, palette }: Scene, width: number, height: number): string {
  if (!house) return '';
  const at = (u: number, v: number): string =>
    `${near(width / 2 + (house.x * width) / 2 + u * house.size * height)} ` +
    `${near((house.y + v * house.size) * height)}`;
  const shape = (fill: string, ...points: [number, number][]): string =>
    tag('path', { d: `M${points.map(([u, v]) => at(u, v)).join('L')}Z`, fill });
  const half = (v: number): number => 0.046 + 0.046 * (v - 0.07);
  const band = (fill: string, from: number, to: number): string =>
    shape(fill, [-half(from), from], [half(from), from], [half(to), to], [-half(to), to]);
  const dark = hex(palette.near);
  const step = 0.158;
  return [
    shape(dark, [-0.42, 1.06], [-0.2, 0.88], [0.3, 0.88], [0.52, 1.06]),
    band(hex(palette.light), 0.07, 0.86),
    band('#b5382f', 0.07 + step, 0.07 + 2 * step),
    band('#b5382f', 0.07 + 3 * step, 0.07 + 4 * step),
    shape(dark, [-0.066, 0.05], [0.066, 0.05], [0.066, 0.07], [-0.066, 0.07]),
    shape(hex(palette.accent), [-0.03, -0.04], [0.03, -0.04], [0.03, 0.05], [-0.03, 0.05]),
    shape('#b5382f', [0, -0.12], [0.052, -0.04], [-0.052, -0.04]),
  ].join('');
}

function labels(width: number, height: number, prompt: string): string {
  const { badge, caption, size, weight } = planLabels(width, height, '', prompt);
  const lines = caption.lines.map((line) => linePath(line.text, size, line.x, line.y));
  const ground = { y: caption.top, width, height: height - caption.top, fill: 'url(#foot)' };
  const pill = { x: badge.left, y: badge.top, width: badge.width, height: badge.height };
  const letters = linePath(badge.text, size, badge.x, badge.y) + lines.join('');
  return (
    (lines.length === 0 ? '' : tag('rect', ground)) +
    tag('rect', { ...pill, rx: badge.height / 2, opacity: 0.5 }) +
    strokes(letters, '#fff', size * weight)
  );
}

function strokes(path: string, colour: string, width: number, opacity = 1): string {
  return tag('path', {
    d: path,
    fill: 'none',
    stroke: colour,
    'stroke-width': width,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
    opacity,
  });
}

/** One element; numbers are rounded to what can be seen. */
function tag(name: string, attributes: Record<string, string | number>, inner = ''): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? near(value) : value}"`,
  );
  return inner === ''
    ? `<${name}${list.join('')}/>`
    : `<${name}${list.join('')}>${inner}</${name}>`;
}

function near(value: number): number {
  return Math.round(value * 100) / 100;
}

function escape(text: string): string {
  const safe = text.slice(0, 500).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '');
  return safe.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
