import { between, hashText, pick, randomFrom } from '../random.ts';

/** The scene of an image, which depends only on the prompt and the seed, not on the size. */

export type SceneKind = 'mountains' | 'forest' | 'hills' | 'sea' | 'dunes' | 'city' | 'lights';

/** Colours as `#rrggbb`. */
export interface Palette {
  /** Colours from the top of the sky down to the horizon. */
  sky: [string, string, string, string];
  /** The sun or the moon, and its light. */
  light: string;
  /** The farthest and the nearest land. */
  far: string;
  near: string;
  /** A few bright spots: windows, aurora, lights. */
  accent: string;
  dark: boolean;
}

export interface Scene {
  kind: SceneKind;
  palette: Palette;
  /** The horizon as a share of the height from the top, 0 to 1; below it is land or water. */
  horizon: number;
  /** x runs from -1 at the left edge to 1 at the right; y and radius are shares of the height. */
  sun: { x: number; y: number; radius: number };
  lighthouse: boolean;
  aurora: boolean;
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

/** Words, English and Russian, that choose the kind. The first row that matches wins. */
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

/** Four colours of the sky, then light, far, near and accent. */
const colours: Record<string, [...Palette['sky'], string, string, string, string]> = {
  dawn: ['#2c2b60', '#7a4c8e', '#ee8a7d', '#ffd9a2', '#fff4d6', '#b46c88', '#1b1838', '#ffb08a'],
  dusk: ['#1c1745', '#5b2b6e', '#d6536f', '#ffa957', '#ffe3b0', '#8e3f6a', '#130d28', '#ffcf7a'],
  day: ['#2f7fcb', '#6bb0ea', '#b4dcf6', '#f4f9fb', '#fffdf0', '#8fb4cc', '#1d4550', '#ffffff'],
  meadow: ['#58b0bd', '#97d3c9', '#d3eccf', '#fbf6d8', '#fffef2', '#84b79d', '#10332c', '#f7e8a0'],
  desert: ['#d9643a', '#f0954f', '#f8c48a', '#fde9c8', '#fff8e6', '#e09a63', '#4f1d14', '#ffdf9e'],
  winter: ['#6f92bd', '#a3bedb', '#d2e0ee', '#fbfbfa', '#ffffff', '#b6c9db', '#304862', '#e8f4ff'],
  rose: ['#4d3575', '#a8598f', '#f09cad', '#ffe2d4', '#fff2ea', '#bd7c9e', '#331a40', '#ffc9b5'],
  tropic: ['#0e4a80', '#1d8ca6', '#6fd0bd', '#fdeab8', '#fffae0', '#3b97a2', '#04303f', '#ffe28a'],
  night: ['#050818', '#0b1834', '#1a315f', '#3d6a92', '#f3f6ff', '#284b70', '#040914', '#ffd98a'],
  aurora: ['#02060f', '#061629', '#0a3042', '#185c62', '#eefcff', '#14464e', '#01070c', '#5dffb4'],
  ember: ['#12080d', '#471222', '#a12a22', '#f47a2b', '#ffdc92', '#7c2526', '#100509', '#ffb347'],
  violet: ['#100a2a', '#331f6c', '#7b50b8', '#eba9dc', '#fff0fb', '#6b459f', '#0d0721', '#ff9de1'],
};
const dark = new Set(['night', 'aurora', 'ember', 'violet']);

export const paletteNames = Object.keys(colours);

export function paletteOf(name: string): Palette {
  const [a, b, c, d, light, far, near, accent] = colours[name]!;
  return { sky: [a, b, c, d], light, far, near, accent, dark: dark.has(name) };
}

export function sceneOf(prompt: string, seed: number): Scene {
  const random = randomFrom(hashText(prompt.normalize('NFC').trim(), seed));
  const kind = kindWords.find(([words]) => words.test(prompt))?.[1] ?? pick(random, kinds);
  const named = paletteWords.find(([words]) => words.test(prompt))?.[1];
  const name = named ?? pick(random, paletteNames);
  const palette = paletteOf(name);
  const horizon = kind === 'sea' ? between(random, 0.52, 0.62) : between(random, 0.62, 0.7);
  const sun = {
    x: between(random, 0.12, 0.55) * (random() < 0.5 ? -1 : 1),
    y: horizon - between(random, 0.1, palette.dark ? 0.42 : 0.3),
    radius: palette.dark ? between(random, 0.03, 0.05) : between(random, 0.05, 0.1),
  };
  return {
    kind,
    palette,
    horizon,
    sun,
    lighthouse: /lighthouse|маяк/i.test(prompt),
    aurora: name === 'aurora',
    seed: Math.floor(random() * 65536),
  };
}

/** Mixes two colours; a share of 0 gives the first, 1 the second. */
export function mix(from: string, to: string, share: number): string {
  const other = rgbOf(to);
  const parts = rgbOf(from).map((part, i) => Math.round(part + (other[i]! - part) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** Red, green and blue, 0 to 255. */
export function rgbOf(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
