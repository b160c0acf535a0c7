import { between, hashText, pick, randomFrom } from './random.ts';
import type { Random } from './random.ts';
import { mix, palettes } from './palette.ts';
import type { Palette, Rgb } from './palette.ts';

/**
 * What a picture shows, free of its size: everything follows from the prompt and the seed.
 * Lengths are in picture heights. x runs to both sides of the middle, y runs from 0 at the top to
 * 1.
 */

export type SceneKind = 'mountains' | 'forest' | 'hills' | 'sea' | 'dunes' | 'city' | 'lights';
export type Shape = 'peaks' | 'soft' | 'trees' | 'blocks';

/** One line of land before the sky; the later in the list, the nearer. */
export interface Ridge {
  shape: Shape;
  /** Where its foot line lies, and how far its tops rise above that. */
  base: number;
  height: number;
  /** Features a picture height. */
  density: number;
  row: number;
  offset: number;
  /** How far it travels in a second of film. */
  drift: number;
  top: Rgb;
  bottom: Rgb;
  /** Share of the height that is under snow. */
  snow: number;
  windows: boolean;
}

/** A soft round light. */
export interface Orb {
  x: number;
  y: number;
  radius: number;
  strength: number;
  colour: Rgb;
  phase: number;
  rim: boolean;
}

export interface Scene {
  kind: SceneKind;
  palette: Palette;
  /** Height of the horizon; below it lies land or water. */
  horizon: number;
  /** x as a share of the picture's half width, -1 to 1. */
  sun: { x: number; y: number; radius: number; glow: number };
  ridges: Ridge[];
  water: boolean;
  /** Its lantern's place; x as the sun's, size in picture heights. */
  lighthouse: { x: number; y: number; size: number } | null;
  stars: { x: number; y: number; size: number; light: number }[];
  aurora: boolean;
  clouds: number;
  orbs: Orb[];
  birds: { x: number; y: number; size: number }[];
  seed: number;
}

const kinds: SceneKind[] = [
  'mountains',
  'mountains',
  'forest',
  'sea',
  'hills',
  'dunes',
  'city',
  'lights',
];

/** Words, English and Russian, that steer the kind of picture. The first row that matches wins. */
const kindWords: [RegExp, SceneKind][] = [
  [/\b(city|cities|street|town|skyline|building|cyberpunk|neon)|город|улиц|неон/i, 'city'],
  [
    /\b(sea|ocean|wave|beach|lake|river|boat|ship|lighthouse)|маяк|мор[ея]|океан|озер|рек[аи]/i,
    'sea',
  ],
  [/\b(forest|tree|wood|pine|jungle|fox|wolf|bear|deer)|лес|дерев|лис|волк|медвед/i, 'forest'],
  [/\b(desert|dune|sand|camel|mars)|пустын|дюн|песок|марс/i, 'dunes'],
  [/\b(mountain|alps|peak|snow|cliff|volcano|winter)|гор[аыну]|снег|вулкан/i, 'mountains'],
  [/\b(hill|field|meadow|garden|farm|village)|холм|поле|луг|сад/i, 'hills'],
  [
    /\b(abstract|pattern|light|bokeh|logo|galaxy|space|portrait)|абстракт|космос|портрет/i,
    'lights',
  ],
];

const paletteWords: [RegExp, string][] = [
  [/\b(aurora|northern lights)|сияни/i, 'aurora'],
  [/\b(purple|violet|neon|cyberpunk|dream)|фиолет|неон/i, 'violet'],
  [/\b(night|midnight|star|moon|space|galaxy)|ноч|звезд|лун|космос/i, 'night'],
  [/\b(dawn|sunrise|morning)|рассвет|утр/i, 'dawn'],
  [/\b(dusk|sunset|evening|golden)|закат|вечер/i, 'dusk'],
  [/\b(snow|winter|ice|frost|white)|снег|зим|лёд|бел/i, 'winter'],
  [/\b(desert|sand|dune|orange)|пустын|песок|оранж/i, 'desert'],
  [/\b(fire|lava|volcano|red|mars)|огонь|огн|лав|красн|марс/i, 'ember'],
  [/\b(tropic|beach|island|turquoise|teal)|пляж|остров|бирюз/i, 'tropic'],
  [/\b(pink|rose|love|cherry)|розов|любов/i, 'rose'],
  [/\b(green|spring|meadow|forest)|зел[её]н|весн|луг/i, 'meadow'],
  [/\b(blue|day|noon|summer|sky)|син|голуб|день|лет/i, 'day'],
];

/** The scene of a prompt and a seed; nothing else goes into it. */
export function sceneOf(prompt: string, seed: number): Scene {
  const random = randomFrom(hashText(prompt.normalize('NFC').trim(), seed));
  const kind = kindWords.find(([words]) => words.test(prompt))?.[1] ?? pick(random, kinds);
  const named = paletteWords.find(([words]) => words.test(prompt))?.[1];
  const palette = palettes[named ?? pick(random, Object.keys(palettes))]!;
  const horizon = kind === 'sea' ? between(random, 0.52, 0.62) : between(random, 0.62, 0.7);
  const land = landOf(kind, palette, horizon, random);
  const sun = {
    x: between(random, 0.12, 0.55) * (random() < 0.5 ? -1 : 1),
    y: horizon - between(random, 0.1, palette.dark ? 0.42 : 0.3),
    radius: palette.dark ? between(random, 0.03, 0.05) : between(random, 0.05, 0.1),
    glow: between(random, 0.16, 0.3),
  };
  return {
    kind,
    palette,
    horizon,
    sun,
    ridges: land,
    water: kind === 'sea',
    lighthouse: lighthouseOf(prompt, horizon, sun.x),
    stars: palette.dark ? starsOf(random) : [],
    aurora: palette.name === 'aurora',
    clouds: palette.dark ? between(random, 0.05, 0.2) : between(random, 0.25, 0.6),
    orbs: orbsOf(kind, palette, random),
    birds: palette.dark || kind === 'lights' ? [] : birdsOf(random),
    seed: Math.floor(random() * 65536),
  };
}

/** On the side where the sun is not. */
function lighthouseOf(prompt: string, horizon: number, sunX: number): Scene['lighthouse'] {
  if (!/lighthouse|маяк/i.test(prompt)) return null;
  const size = 0.42;
  return { x: sunX > 0 ? -0.45 : 0.45, y: horizon - size * 0.95, size };
}

function landOf(kind: SceneKind, palette: Palette, horizon: number, random: Random): Ridge[] {
  const plans: Record<
    SceneKind,
    [count: number, far: Shape, near: Shape, density: number, height: number]
  > = {
    mountains: [5, 'peaks', 'trees', 1.15, 0.46],
    forest: [5, 'peaks', 'trees', 1.1, 0.27],
    hills: [5, 'soft', 'soft', 1.15, 0.25],
    dunes: [5, 'soft', 'soft', 0.75, 0.27],
    city: [4, 'blocks', 'blocks', 9, 0.3],
    sea: [2, 'peaks', 'peaks', 1.2, 0.16],
    lights: [0, 'soft', 'soft', 1, 0],
  };
  const [count, far, near, density, height] = plans[kind];
  const ridges: Ridge[] = [];
  for (let i = 0; i < count; i++) {
    const depth = count === 1 ? 1 : i / (count - 1);
    // Forests close in: every line but the two farthest carries trees.
    const trees = kind === 'forest' ? i >= 2 : i === count - 1;
    const shape = trees ? near : far;
    const top = mix(palette.far, palette.near, kind === 'sea' ? 0.15 + depth * 0.3 : depth ** 1.1);
    const foot = kind === 'sea' ? horizon : horizon + depth * (0.97 - horizon) * 0.82;
    ridges.push({
      shape,
      base: kind === 'sea' ? horizon : foot + (shape === 'trees' ? 0.03 : 0),
      height: height * (kind === 'sea' ? 1 - depth * 0.5 : 1 - depth * 0.5),
      density: density * (shape === 'blocks' ? 1 - depth * 0.5 : 1 + depth * 0.4),
      row: Math.floor(random() * 10_000),
      offset: random() * 1000,
      drift: kind === 'city' ? 0.008 + depth * 0.045 : 0.006 + depth * depth * 0.07,
      top,
      bottom: mix(mix(top, palette.sky[3], 0.5 - depth * 0.32), palette.far, 0.25 * (1 - depth)),
      snow: kind === 'mountains' && i < 3 && palette.name !== 'desert' ? 0.34 - i * 0.09 : 0,
      windows: kind === 'city',
    });
  }
  return ridges;
}

function starsOf(random: Random): Scene['stars'] {
  return Array.from({ length: 260 }, () => ({
    x: between(random, -1.4, 1.4),
    y: random() ** 1.3 * 0.7,
    size: 0.0007 + random() ** 6 * 0.0022,
    light: 0.25 + random() * 0.75,
  }));
}

function orbsOf(kind: SceneKind, palette: Palette, random: Random): Orb[] {
  if (kind !== 'lights') return [];
  const colours = [palette.accent, palette.light, palette.sky[2], palette.sky[3], palette.far];
  return Array.from({ length: 46 }, (_, i) => {
    const wide = i < 10;
    return {
      x: between(random, -1.1, 1.1),
      y: between(random, 0.05, 0.95),
      radius: wide ? between(random, 0.22, 0.5) : 0.012 + random() ** 2 * 0.09,
      strength: wide ? between(random, 0.2, 0.45) : between(random, 0.12, 0.5),
      colour: pick(random, colours),
      phase: random() * Math.PI * 2,
      rim: !wide,
    };
  });
}

function birdsOf(random: Random): Scene['birds'] {
  if (random() < 0.35) return [];
  const x = between(random, -0.5, 0.5);
  const y = between(random, 0.16, 0.34);
  return Array.from({ length: 3 + Math.floor(random() * 4) }, () => ({
    x: x + between(random, -0.16, 0.16),
    y: y + between(random, -0.05, 0.05),
    size: between(random, 0.012, 0.024),
  }));
}
