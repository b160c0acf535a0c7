import { escape } from './frame.ts';

/** The diagram of docs/states.md, drawn by hand: no light library draws Mermaid without a browser. */

type Point = [x: number, y: number];

/** Boxes by state: left, top and width. */
const boxes: Record<string, [x: number, y: number, width: number]> = {
  IN_QUEUE: [20, 84, 120],
  IN_PROGRESS: [200, 170, 140],
  CANCELLED: [5, 330, 110],
  FAILED: [150, 330, 90],
  COMPLETED: [270, 330, 120],
};
const height = 34;

/** Arrows with the labels that docs/states.md has. */
const arrows: [path: string, label: string, at: Point][] = [
  ['M194 20 90 80', 'submit / reserve', [128, 54]],
  ['M206 18C300 40 320 100 320 166', 'chat call / reserve', [292, 72]],
  ['M130 118 210 166', 'first call to a model', [172, 145]],
  ['M50 118V326', 'cancel / release', [54, 205]],
  ['M100 118C110 230 180 240 184 326', 'cannot be started / release', [138, 250]],
  ['M340 178C392 160 392 214 344 198', 'progress, or another try', [322, 160]],
  ['M310 204C326 250 330 280 330 326', 'output kept / charge', [326, 268]],
  ['M208 204C180 262 96 262 86 326', 'stopped on request / by its row', [70, 292]],
  ['M240 204C230 260 206 280 204 326', 'refused, failed, too late / release', [212, 304]],
  ['M60 364 188 402', '', [0, 0]],
  ['M195 364 199 396', '', [0, 0]],
  ['M330 364 212 402', '', [0, 0]],
];

/** An SVG without style attributes, which the policy of the pages forbids. */
export function statesDiagram(): string {
  const drawn = Object.entries(boxes).map(
    ([name, [x, y, width]]) =>
      `<rect class="box" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>` +
      `<text class="state" x="${x + width / 2}" y="${y + 22}">${name}</text>`,
  );
  const lines = arrows.map(([path]) => `<path d="${path}" marker-end="url(#arrow)"/>`);
  const labels = arrows.flatMap(([, label, [x, y]]) =>
    label === '' ? [] : `<text x="${x}" y="${y}">${escape(label)}</text>`,
  );
  return `<svg class="diagram" viewBox="0 0 400 424" role="img" aria-labelledby="diagram-title">
<title id="diagram-title">States of a request; the table below describes them</title>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>
${lines.join('\n')}
<circle class="dot" cx="200" cy="16" r="6"/>
<circle class="box" cx="200" cy="407" r="9"/><circle class="dot" cx="200" cy="407" r="5"/>
${drawn.join('\n')}
${labels.join('\n')}
</svg>
`;
}
