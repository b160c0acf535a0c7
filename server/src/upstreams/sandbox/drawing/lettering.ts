import { glyphOf } from './glyphs.ts';
import { element, rounded } from './svg.ts';

/**
 * Draws text as strokes, because a machine may have no fonts. `size` is the height of a capital
 * letter in pixels.
 */

const capUnits = 7;
const gap = 1.7;
const strokeWidth = 1;

/** The text in capitals without accents, which the stroke alphabet can write. */
export function writable(text: string): string {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toUpperCase();
  return plain.replace(/\s+/g, ' ').trim();
}

export function lineWidth(text: string, size: number): number {
  let units = 0;
  for (const char of text) units += glyphOf(char)[0] + gap;
  return Math.max(0, units - gap) * (size / capUnits);
}

/**
 * Breaks a text into at most `most` lines of at most `width` pixels; a text that does not fit ends
 * in an ellipsis.
 */
export function wrap(text: string, size: number, width: number, most: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of writable(text).split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (lineWidth(longer, size) <= width) {
      line = longer;
      continue;
    }
    if (lines.length === most - 1) return [...lines, shorten(longer, size, width)];
    if (line !== '') lines.push(line);
    line = lineWidth(word, size) > width ? shorten(word, size, width) : word;
  }
  return line === '' ? lines : [...lines, line];
}

/** Draws one line in white; (x, y) is the top left corner of its first letter. */
export function drawLine(text: string, size: number, x: number, y: number): string {
  let at = 0;
  let paths = '';
  for (const char of text) {
    const [width, d] = glyphOf(char);
    if (d !== '') paths += element('path', { d, transform: `translate(${rounded(at)})` });
    at += width + gap;
  }
  const style = {
    fill: 'none',
    stroke: '#fff',
    'stroke-width': strokeWidth,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  };
  const transform = `translate(${rounded(x)} ${rounded(y)}) scale(${size / capUnits})`;
  return element('g', { ...style, transform }, paths);
}

/**
 * Shortens a text to the width. Reads no further than needed, because a prompt without spaces is
 * one word of any length.
 */
function shorten(text: string, size: number, width: number): string {
  const ellipsis = glyphOf('…')[0];
  let units = 0;
  let kept = '';
  for (const char of text) {
    units += glyphOf(char)[0] + gap;
    if (kept !== '' && (units + ellipsis) * (size / capUnits) > width) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}
