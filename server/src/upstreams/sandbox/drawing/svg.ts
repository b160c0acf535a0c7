/**
 * One SVG element; numbers are rounded to a visible precision. For transparent shapes use
 * `fill-opacity`: with `opacity`, each shape would be drawn into a separate image, many times
 * slower.
 */
export function element(
  name: string,
  attributes: Record<string, string | number>,
  inner = '',
): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? rounded(value) : value}"`,
  );
  return inner === ''
    ? `<${name}${list.join('')}/>`
    : `<${name}${list.join('')}>${inner}</${name}>`;
}

/** An SVG document of the given size in pixels. */
export function svgDocument(width: number, height: number, inner: string): string {
  const xmlns = 'http://www.w3.org/2000/svg';
  const viewBox = `0 0 ${width} ${height}`;
  return element('svg', { xmlns, width, height, viewBox, role: 'img' }, inner);
}

/** A gradient of colours at offsets from 0 to 1. */
export function gradient(
  name: 'linearGradient' | 'radialGradient',
  attributes: Record<string, string | number>,
  stops: [offset: number, colour: string, opacity?: number][],
): string {
  const made = stops.map(([offset, colour, opacity = 1]) =>
    element('stop', { offset, 'stop-color': colour, 'stop-opacity': opacity }),
  );
  // Linear gradients run downwards here; SVG's default is to the right.
  const down = name === 'linearGradient' && { x2: 0, y2: 1 };
  return element(name, { ...down, ...attributes }, made.join(''));
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
