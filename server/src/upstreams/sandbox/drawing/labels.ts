import { drawLine, lineWidth, wrap, writable } from './lettering.ts';
import { element, gradient, svgDocument } from './svg.ts';
import type { Size } from '../orders/size.ts';

/** The texts in every image and video: the word "sandbox", and the prompt at the bottom. */

export interface Label {
  /** Position and size are even numbers of pixels, so that the label can be drawn over a video. */
  left: number;
  top: number;
  width: number;
  height: number;
  /** An SVG document of this size. */
  svg: string;
}

const lineHeight = 1.75;

/**
 * The labels of an image. `note` names the operation, such as `edit`; `note` and `text` may be
 * empty.
 */
export function labelsOf(size: Size, note: string, text: string): Label[] {
  const capital = Math.max(7, Math.round(Math.min(size.width, size.height * 1.5) * 0.0215));
  const lines =
    text === '' || size.height < 12 * capital
      ? []
      : wrap(text, capital, size.width - 3 * capital, 2);
  const made = [badge(size, capital, note)];
  if (lines.length > 0) made.push(caption(size, capital, lines));
  // An image of a few pixels has no room for labels.
  return made.filter(({ width, height }) => width > 0 && height > 0);
}

function badge(size: Size, capital: number, note: string): Label {
  const long = writable(note === '' ? 'SANDBOX' : `SANDBOX · ${note}`);
  const text = lineWidth(long, capital) <= size.width - 3.4 * capital ? long : 'SANDBOX';
  const left = even(capital * 0.9);
  const width = Math.min(size.width - left, Math.ceil(lineWidth(text, capital) + 1.8 * capital));
  const height = Math.min(size.height - left, Math.ceil(2.3 * capital));
  const pill = element('rect', { width, height, rx: height / 2, 'fill-opacity': 0.5 });
  const line = drawLine(text, capital, 0.9 * capital, 0.65 * capital);
  return { left, top: left, width, height, svg: svgDocument(width, height, pill + line) };
}

function caption({ width, height }: Size, capital: number, lines: string[]): Label {
  const firstLine = height - 2.6 * capital - (lines.length - 1) * lineHeight * capital;
  const top = even(Math.max(0, firstLine - 4 * capital));
  const rest = height - top;
  const shade = gradient('linearGradient', { id: 'foot' }, [
    [0, '#000', 0],
    [0.5, '#000', 0.25],
    [1, '#000', 0.62],
  ]);
  const ground = element('rect', { width, height: rest, fill: 'url(#foot)' });
  const text = lines.map((line, i) =>
    drawLine(line, capital, 1.5 * capital, firstLine - top + i * lineHeight * capital),
  );
  const svg = svgDocument(width, rest, `<defs>${shade}</defs>${ground}${text.join('')}`);
  return { left: 0, top, width, height: rest, svg };
}

function even(value: number): number {
  return Math.floor(value / 2) * 2;
}
