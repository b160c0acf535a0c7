import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Model } from '../../core/catalog/catalog.ts';
import { samplePath } from '../../core/catalog/sample.ts';
import { drawBareLandscape } from '../../upstreams/sandbox/drawing/landscape.ts';
import type { RunTimes } from '../../operations/upstreams/run-times.ts';
import { taskWords } from '../../core/task-words.ts';
import { escape } from './frame.ts';
import type { Speech, Words } from './speech.ts';

/** Models as cards: a sample, the name, what it makes, and the lowest price. */

export const promise: Words = [
  'The price is fixed before a job starts. A job that fails costs nothing.',
  'Цена известна до запуска. Неудачный запуск ничего не стоит.',
];

export function cardsOf(models: readonly Model[], speech: Speech, times: RunTimes): string {
  const items = models.map((model) => `<li>${card(model, speech, times)}</li>`);
  return `<ul class="cards">${items.join('\n')}</ul>`;
}

function card(model: Model, { say, at }: Speech, times: RunTimes): string {
  const { id, name } = model;
  return `<a class="card" href="${at(`/models/${escape(id)}`)}">
${cover(model)}
<span class="row"><strong>${escape(name)}</strong><span class="price">${escape(priceFrom(model, say))}</span></span>
${stoppedLine(model, say)}<span class="dim">${escape(factsOf(model, say, times))}</span></a>`;
}

/** The name of its task, and the usual time of a run if anybody knows it. */
export function factsOf({ id, task }: Model, say: Speech['say'], times: RunTimes): string {
  const name = say(taskWords[task]);
  const median = times.get(id);
  if (median === undefined) return name;
  const seconds = median < 10 ? Math.max(median, 0.1) : Math.round(median);
  return say([`${name} · about ${seconds} s`, `${name} · около ${seconds} с`]);
}

/** Says that the operator stopped the model, with the operator's note; empty if it is sold. */
export function stoppedLine({ stopped }: Model, say: Speech['say']): string {
  if (stopped === undefined) return '';
  const { note } = stopped;
  const words = say(['Stopped by the operator', 'Снята с продажи оператором']);
  return `<span class="stopped">${escape(note === null ? words : `${words}: ${note}`)}</span>\n`;
}

/** A sample of what the model makes, or a line of what it may be asked. */
export function cover(model: Model): string {
  const picture = samplePath(model);
  if (picture !== null)
    return `<img class="cover" src="${escape(picture)}" alt="" width="480" height="360" loading="lazy">`;
  const { prompt } = model.example;
  const words = typeof prompt === 'string' ? prompt : model.description;
  return `<span class="cover words" aria-hidden="true">${escape(words)}</span>`;
}

/** The sandbox's picture for the row's own example. */
export function paintSample(model: Model): string {
  const { prompt } = model.example;
  const words = typeof prompt === 'string' ? prompt : model.name;
  return drawBareLandscape(words, model.id.length, { width: 480, height: 360 });
}

/**
 * The lowest list price of a unit, such as `$0.04 / image`, `$0.60 in, $2.40 out / 1M tokens`, or
 * `from $0.10 / s` where choices cost more.
 */
function priceFrom(model: Model, say: Speech['say']): string {
  const { price, unit, price_by_resolution: rates, extras } = catalogEntry(model);
  const each = say(unitName(unit));
  if (typeof price === 'object') {
    const [input, output] = [usd(price.input), usd(price.output)];
    return say([
      `${input} in, ${output} out / ${each}`,
      `${input} вход, ${output} выход / ${each}`,
    ]);
  }
  const all = Object.values(rates ?? { price });
  const lowest = `${usd(Math.min(...all))} / ${each}`;
  const varies = new Set(all).size > 1 || extras.length > 0;
  return varies ? say([`from ${lowest}`, `от ${lowest}`]) : lowest;
}

const units: Record<string, Words> = {
  image: ['image', 'картинка'],
  sec: ['s', 'с'],
  MP: ['MP', 'Мп'],
  request: ['request', 'запрос'],
  '1M tokens': ['1M tokens', 'млн токенов'],
};

export function unitName(unit: string): Words {
  return units[unit] ?? [unit, unit];
}

export function usd(amount: number): string {
  const [whole, decimals = ''] = amount
    .toFixed(6)
    .replace(/0{1,4}$/, '')
    .split('.');
  return `$${whole}.${decimals}`;
}
