import { pick, type Random } from '../random.ts';

/** Colours as `#rrggbb`. */
export interface Palette {
  /** Colours from the top of the sky down to the horizon. */
  sky: [string, string, string, string];
  /** The sun or the moon, and its light. */
  light: string;
  /** The farthest and the nearest land. */
  far: string;
  near: string;
  dark: boolean;
}

/** Four colours of the sky, then light, far and near. */
const colours: Record<string, [...Palette['sky'], string, string, string]> = {
  dawn: ['#2c2b60', '#7a4c8e', '#ee8a7d', '#ffd9a2', '#fff4d6', '#b46c88', '#1b1838'],
  dusk: ['#1c1745', '#5b2b6e', '#d6536f', '#ffa957', '#ffe3b0', '#8e3f6a', '#130d28'],
  day: ['#2f7fcb', '#6bb0ea', '#b4dcf6', '#f4f9fb', '#fffdf0', '#8fb4cc', '#1d4550'],
  meadow: ['#58b0bd', '#97d3c9', '#d3eccf', '#fbf6d8', '#fffef2', '#84b79d', '#10332c'],
  desert: ['#d9643a', '#f0954f', '#f8c48a', '#fde9c8', '#fff8e6', '#e09a63', '#4f1d14'],
  winter: ['#6f92bd', '#a3bedb', '#d2e0ee', '#fbfbfa', '#ffffff', '#b6c9db', '#304862'],
  rose: ['#4d3575', '#a8598f', '#f09cad', '#ffe2d4', '#fff2ea', '#bd7c9e', '#331a40'],
  tropic: ['#0e4a80', '#1d8ca6', '#6fd0bd', '#fdeab8', '#fffae0', '#3b97a2', '#04303f'],
  night: ['#050818', '#0b1834', '#1a315f', '#3d6a92', '#f3f6ff', '#284b70', '#040914'],
  aurora: ['#02060f', '#0a3042', '#1c7a6a', '#6fe8a8', '#eefcff', '#14464e', '#01070c'],
  ember: ['#12080d', '#471222', '#a12a22', '#f47a2b', '#ffdc92', '#7c2526', '#100509'],
  violet: ['#100a2a', '#331f6c', '#7b50b8', '#eba9dc', '#fff0fb', '#6b459f', '#0d0721'],
};
const dark = new Set(['night', 'aurora', 'ember', 'violet']);

/** Words of a prompt, English and Russian, and their palettes. The first row that matches wins. */
const words: [RegExp, string][] = [
  [/\b(aurora|northern lights)|сияни/i, 'aurora'],
  [/\b(purple|violet|neon|cyberpunk|dream)|фиолет|неон/i, 'violet'],
  [/\b(night|midnight|star|moon|space|galaxy)|ноч|звезд|лун|космос/i, 'night'],
  [/\b(dawn|sunrise|morning)|рассвет|утр/i, 'dawn'],
  [/\b(dusk|sunset|evening|golden)|закат|вечер/i, 'dusk'],
  [/\b(snow|winter|ice|frost|white)|снег|зим|лёд|бел/i, 'winter'],
  [/\b(fire|lava|volcano|red|mars)|огонь|огн|лав|красн|марс/i, 'ember'],
  [/\b(desert|sand|dune|orange)|пустын|песок|оранж/i, 'desert'],
  [/\b(tropic|beach|island|turquoise|sea|ocean)|пляж|остров|бирюз|мор[ея]|океан/i, 'tropic'],
  [/\b(pink|rose|love|cherry)|розов|любов/i, 'rose'],
  [/\b(green|spring|meadow|forest)|зел[её]н|весн|луг|лес/i, 'meadow'],
  [/\b(blue|day|noon|summer|sky)|син|голуб|день|лет/i, 'day'],
];

export function paletteFor(prompt: string, random: Random): Palette {
  const named = words.find(([word]) => word.test(prompt))?.[1];
  const name = named ?? pick(random, Object.keys(colours));
  const [a, b, c, d, light, far, near] = colours[name]!;
  return { sky: [a, b, c, d], light, far, near, dark: dark.has(name) };
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
