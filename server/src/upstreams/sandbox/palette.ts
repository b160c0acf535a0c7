/** Hand-tuned colours of the pictures the sandbox draws. */

/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

export interface Palette {
  name: string;
  /** From the top of the sky down to the horizon. */
  sky: readonly [Rgb, Rgb, Rgb, Rgb];
  /** The sun or the moon, and the light it gives. */
  light: Rgb;
  /** The farthest and the nearest land. */
  far: Rgb;
  near: Rgb;
  /** Few bright spots: lit windows, aurora, lights. */
  accent: Rgb;
  dark: boolean;
}

type Colours = [
  string,
  string,
  string,
  string,
  light: string,
  far: string,
  near: string,
  accent: string,
];

const rows: Record<string, [dark: boolean, colours: Colours]> = {
  dawn: [
    false,
    ['#2c2b60', '#7a4c8e', '#ee8a7d', '#ffd9a2', '#fff4d6', '#b46c88', '#1b1838', '#ffb08a'],
  ],
  dusk: [
    false,
    ['#1c1745', '#5b2b6e', '#d6536f', '#ffa957', '#ffe3b0', '#8e3f6a', '#130d28', '#ffcf7a'],
  ],
  day: [
    false,
    ['#2f7fcb', '#6bb0ea', '#b4dcf6', '#f4f9fb', '#fffdf0', '#8fb4cc', '#1d4550', '#ffffff'],
  ],
  meadow: [
    false,
    ['#58b0bd', '#97d3c9', '#d3eccf', '#fbf6d8', '#fffef2', '#84b79d', '#10332c', '#f7e8a0'],
  ],
  desert: [
    false,
    ['#d9643a', '#f0954f', '#f8c48a', '#fde9c8', '#fff8e6', '#e09a63', '#4f1d14', '#ffdf9e'],
  ],
  winter: [
    false,
    ['#6f92bd', '#a3bedb', '#d2e0ee', '#fbfbfa', '#ffffff', '#b6c9db', '#304862', '#e8f4ff'],
  ],
  rose: [
    false,
    ['#4d3575', '#a8598f', '#f09cad', '#ffe2d4', '#fff2ea', '#bd7c9e', '#331a40', '#ffc9b5'],
  ],
  tropic: [
    false,
    ['#0e4a80', '#1d8ca6', '#6fd0bd', '#fdeab8', '#fffae0', '#3b97a2', '#04303f', '#ffe28a'],
  ],
  night: [
    true,
    ['#050818', '#0b1834', '#1a315f', '#3d6a92', '#f3f6ff', '#284b70', '#040914', '#ffd98a'],
  ],
  aurora: [
    true,
    ['#02060f', '#061629', '#0a3042', '#185c62', '#eefcff', '#14464e', '#01070c', '#5dffb4'],
  ],
  ember: [
    true,
    ['#12080d', '#471222', '#a12a22', '#f47a2b', '#ffdc92', '#7c2526', '#100509', '#ffb347'],
  ],
  violet: [
    true,
    ['#100a2a', '#331f6c', '#7b50b8', '#eba9dc', '#fff0fb', '#6b459f', '#0d0721', '#ff9de1'],
  ],
};

export const palettes: Record<string, Palette> = Object.fromEntries(
  Object.entries(rows).map(([name, [dark, colours]]) => [name, paletteOf(name, dark, colours)]),
);

/** A colour some way from one to another; 0 is the first. */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

export function hex(colour: Rgb): string {
  return `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

function paletteOf(name: string, dark: boolean, colours: Colours): Palette {
  const [a, b, c, d, light, far, near, accent] = colours.map(rgb) as [
    Rgb,
    Rgb,
    Rgb,
    Rgb,
    Rgb,
    Rgb,
    Rgb,
    Rgb,
  ];
  return { name, dark, sky: [a, b, c, d], light, far, near, accent };
}

function rgb(text: string): Rgb {
  const value = Number.parseInt(text.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
