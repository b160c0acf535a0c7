import { lattice, noise } from '../random.ts';
import { mix } from './scene.ts';
import type { Scene, SceneKind } from './scene.ts';
import { element, gradient, rounded } from './svg.ts';

/** Ridges of land, one in front of another, in the landscape's units. */

type Shape = 'peaks' | 'soft' | 'trees' | 'houses';

interface Ridge {
  shape: Shape;
  /** y of the ridge's foot, and the height of its tops above the foot. */
  base: number;
  height: number;
  /** Features per thousand units. */
  density: number;
  /** The row of noise that it follows. */
  row: number;
  top: string;
  bottom: string;
  snow: boolean;
}

interface Plan {
  count: number;
  far: Shape;
  near: Shape;
  density: number;
  height: number;
}

const plans: Record<SceneKind, Plan> = {
  mountains: { count: 5, far: 'peaks', near: 'trees', density: 1.15, height: 460 },
  forest: { count: 5, far: 'peaks', near: 'trees', density: 1.1, height: 270 },
  hills: { count: 5, far: 'soft', near: 'soft', density: 1.15, height: 250 },
  dunes: { count: 5, far: 'soft', near: 'soft', density: 0.75, height: 270 },
  city: { count: 4, far: 'houses', near: 'houses', density: 9, height: 300 },
  sea: { count: 2, far: 'peaks', near: 'peaks', density: 1.2, height: 160 },
  lights: { count: 0, far: 'soft', near: 'soft', density: 1, height: 0 },
};
const step = 5;
/** Land extends beyond both sides, so that its outline can be drawn shifted. */
const margin = 80;

/** Draws all land of a scene from -half to half, the farthest first. */
export function drawLand(scene: Scene, half: number): string {
  return ridgesOf(scene)
    .map((ridge, i) => drawRidge(scene, ridge, half, `ridge${i}`))
    .join('');
}

function ridgesOf({ kind, palette, horizon, seed }: Scene): Ridge[] {
  const { count, far, near, density, height } = plans[kind];
  const shore = horizon * 1000;
  return Array.from({ length: count }, (_, i) => {
    const depth = i / (count - 1);
    // In a forest every ridge but the two farthest has trees.
    const shape = (kind === 'forest' ? i >= 2 : i === count - 1) ? near : far;
    const isSea = kind === 'sea';
    const top = mix(palette.far, palette.near, isSea ? 0.15 + depth * 0.3 : depth ** 1.1);
    return {
      shape,
      base: isSea ? shore : shore + depth * (970 - shore) * 0.82 + (shape === 'trees' ? 30 : 0),
      height: height * (1 - depth * 0.5),
      density: density * (shape === 'houses' ? 1 - depth * 0.5 : 1 + depth * 0.4),
      row: seed + i * 1000,
      top,
      bottom: mix(top, palette.sky[3], 0.5 - depth * 0.32),
      snow: kind === 'mountains' && i < 3,
    };
  });
}

function drawRidge(scene: Scene, ridge: Ridge, half: number, id: string): string {
  if (ridge.shape === 'houses') return drawHouses(scene, ridge, half, id);
  const { base, height } = ridge;
  const xs: number[] = [];
  for (let x = -half - margin; x <= half + margin; x += step) xs.push(x);
  const foot = scene.kind === 'sea' ? base : 1000;
  const edge = lineTo(xs.map((x) => [x, edgeAt(ridge, x)]));
  const d = `M${-half - margin} ${foot}${edge}V${foot}Z`;
  const fill = `url(#${id})`;
  const parts = [ridgeFill(id, ridge, base + height * 0.2), element('path', { d, fill })];
  if (ridge.shape === 'peaks') {
    // The same outline, shifted away from the sun, shades the far side of the slopes.
    const transform = `translate(${scene.sun.x < 0 ? 60 : -60} ${rounded(height * 0.22)})`;
    const clip = element('clipPath', { id: `${id}-clip` }, element('path', { d }));
    const shade = element('path', { d, transform, fill: scene.palette.near, 'fill-opacity': 0.1 });
    parts.push(clip, element('g', { 'clip-path': `url(#${id}-clip)` }, shade));
  }
  if (ridge.snow) parts.push(drawSnow(scene, ridge, xs));
  if (ridge.shape === 'trees') parts.push(element('path', { d: trees(ridge, half), fill }));
  return parts.join('');
}

/** A gradient from the tops of a ridge down to `y2`. */
function ridgeFill(id: string, { base, height, top, bottom }: Ridge, y2: number): string {
  const place = { gradientUnits: 'userSpaceOnUse', y1: base - height, y2 };
  return gradient('linearGradient', { id, ...place }, [
    [0, top],
    [1, bottom],
  ]);
}

/** y of a ridge's upper edge. */
function edgeAt({ shape, base, height, density, row }: Ridge, x: number): number {
  const at = (x / 1000) * density;
  const wave = (scale: number, shift: number) => noise(at * scale, row + shift);
  if (shape === 'soft') return base - height * (0.2 + 0.58 * wave(1, 0) + 0.22 * wave(2.3, 7));
  if (shape === 'trees') return base - height * 0.35 * wave(1, 0);
  const folded = 1 - Math.abs(2 * wave(1.4, 0) - 1);
  const fine = 0.5 * wave(4, 3) + 0.3 * wave(9, 4) + 0.2 * wave(21, 5);
  const rough = 0.74 * folded + 0.26 * fine;
  return base - height * (0.1 + 0.9 * rough * (0.35 + 0.65 * wave(0.8, 6)));
}

function drawSnow({ palette }: Scene, ridge: Ridge, xs: number[]): string {
  const line = ridge.base - ridge.height * 0.5;
  const upper = xs.map((x): [number, number] => [x, Math.min(line, edgeAt(ridge, x))]);
  const lower = upper.map(([x, y]): [number, number] => {
    const ragged = 0.25 + 1.1 * noise(x / 22, ridge.row + 40) * noise(x / 60, ridge.row + 41);
    return [x, y + (line - y) * ragged];
  });
  const d = `M${lineTo([...upper, ...lower.reverse()]).slice(1)}Z`;
  return element('path', { d, fill: palette.light, 'fill-opacity': 0.9 });
}

/** Conifers in two overlapping rows, each of three triangles. */
function trees(ridge: Ridge, half: number): string {
  const pitch = 44;
  let d = '';
  for (let i = Math.floor(-half / pitch) - 1; i <= half / pitch + 1; i++) {
    for (const row of [0, 1]) {
      const own = (nth: number) => lattice(i, ridge.row + row * 31 + nth);
      const x = (i + 0.25 + 0.5 * own(1) + row * 0.5) * pitch;
      const tall = ridge.height * (0.28 + 0.5 * own(2) ** 3 + 0.14 * own(3));
      const foot = edgeAt(ridge, x) + 10;
      for (const [apex, low, wide] of [
        [1, 0.55, 0.13],
        [0.78, 0.28, 0.19],
        [0.55, 0, 0.25],
      ] as const) {
        const side = tall * wide;
        d += `M${rounded(x)} ${rounded(foot - tall * apex)}l${rounded(side)} `;
        d += `${rounded(tall * (apex - low))}h${rounded(-2 * side)}Z`;
      }
    }
  }
  return d;
}

/** A row of houses with lit windows. */
function drawHouses({ palette }: Scene, ridge: Ridge, half: number, id: string): string {
  const pitch = 1000 / ridge.density;
  const storey = pitch / 5.8;
  let walls = '';
  let windows = '';
  for (let house = Math.floor(-half / pitch); house <= half / pitch; house++) {
    const own = (x: number, y: number) => lattice(house * 8 + x, ridge.row + y);
    const district = noise(house * 0.13, ridge.row + 3);
    const tall = 0.25 + own(0, 0) ** 2 * 0.55 * (0.3 + district) + district * 0.35;
    const top = ridge.base - ridge.height * tall;
    walls += `M${rounded(house * pitch)} ${rounded(top)}h${rounded(pitch + 0.5)}V1000H`;
    walls += `${rounded(house * pitch)}Z`;
    const busy = 0.72 - 0.4 * own(0, 9);
    for (let floor = 0; top + storey * (floor + 1.2) < 1000; floor++) {
      for (let column = 1; column <= 4; column++) {
        if (own(column, floor + 50) < busy) continue;
        const x = house * pitch + ((column + 0.25) * pitch) / 6;
        windows += `M${rounded(x)} ${rounded(top + storey * (floor + 0.6))}h${rounded(pitch / 11)}`;
        windows += `v${rounded(storey * 0.45)}h${rounded(-pitch / 11)}Z`;
      }
    }
  }
  return (
    ridgeFill(id, ridge, ridge.base + ridge.height) +
    element('path', { d: walls, fill: `url(#${id})` }) +
    element('path', { d: windows, fill: palette.accent, 'fill-opacity': 0.7 })
  );
}

function lineTo(points: [x: number, y: number][]): string {
  return points.map(([x, y]) => `L${rounded(x)} ${rounded(y)}`).join('');
}
