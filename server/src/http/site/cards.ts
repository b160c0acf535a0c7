import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Model } from '../../core/catalog/catalog.ts';
import { drawBareLandscape } from '../../upstreams/sandbox/drawing/landscape.ts';
import { escape } from './frame.ts';

/** Models as cards: a sample, the name, what it makes, and the lowest price. */

export const kinds = { image: 'Pictures', video: 'Films and sound', text: 'Text' };

export function cardsOf(models: readonly Model[]): string {
  return `<ul class="cards">${models.map((model) => `<li>${card(model)}</li>`).join('\n')}</ul>`;
}

function card(model: Model): string {
  const { id, name, task } = model;
  return `<a class="card" href="/models/${escape(id)}">
${cover(model)}
<span class="row"><strong>${escape(name)}</strong><span class="price">${escape(priceFrom(model))}</span></span>
<span class="dim">${escape(taskWords(task))}</span></a>`;
}

/** A sample of what the model makes, or a line of what it may be asked. */
export function cover(model: Model): string {
  const picture = sampleOf(model);
  if (picture !== null)
    return `<img class="cover" src="${escape(picture)}" alt="" width="480" height="360" loading="lazy">`;
  const { prompt } = model.example;
  const words = typeof prompt === 'string' ? prompt : model.description;
  return `<span class="cover words" aria-hidden="true">${escape(words)}</span>`;
}

/** The path of the model's sample; null if there is none. */
export function sampleOf(model: Model): string | null {
  return isPainted(model) ? `/models/${model.id}/sample.svg` : null;
}

/** Only the sandbox's pictures can be made without a call to an upstream. */
function isPainted({ kind, upstreams }: Model): boolean {
  return kind !== 'text' && upstreams.every(({ upstream }) => upstream === 'sandbox');
}

/** The sandbox's picture for the row's own example. */
export function paintSample(model: Model): string | null {
  if (!isPainted(model)) return null;
  const { prompt } = model.example;
  const words = typeof prompt === 'string' ? prompt : model.name;
  return drawBareLandscape(words, model.id.length, { width: 480, height: 360 });
}

/** `text-to-image` as `Text to image`. */
export function taskWords(task: string): string {
  const words = task.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The lowest list price of a unit, such as `$0.03`, `$0.10 / s`, or `$0.60 in, $2.40 out`. */
export function priceFrom(model: Model): string {
  const { price, unit, price_by_resolution: rates } = catalogEntry(model);
  if (typeof price === 'object') return `${usd(price.input)} in, ${usd(price.output)} out`;
  const lowest = Math.min(...Object.values(rates ?? { price }));
  const short = units[unit];
  return `${usd(lowest)}${short === undefined ? ` / ${unit}` : short}`;
}

const units: Record<string, string> = { image: '', second: ' / s', MP: ' / MP' };

export function usd(amount: number): string {
  const [whole, decimals = ''] = amount
    .toFixed(6)
    .replace(/0{1,4}$/, '')
    .split('.');
  return `$${whole}.${decimals}`;
}
