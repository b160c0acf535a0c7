import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Model } from '../../core/catalog/catalog.ts';
import { kindWords } from '../../core/task-words.ts';
import { samplePath } from '../../core/catalog/sample.ts';
import { sendCached } from '../api/cached.ts';
import { isObject } from '../../lib/json.ts';
import { maxWords } from '../docs/guide-catalog.ts';
import type { RunTimes } from '../../operations/upstreams/run-times.ts';
import type { WebDeps } from '../session/session-request.ts';
import {
  cardsOf,
  cover,
  factsOf,
  paintSample,
  stoppedLine,
  promise,
  unitName,
  usd,
} from './cards.ts';
import { codeBlock } from './code.ts';
import { escape, link, sendPage, sendText, table } from './frame.ts';
import { sendMissingPage } from './missing.ts';
import { speechOf, type Speech, type Words } from './speech.ts';
import { codeOf } from './start.ts';

/** The catalog as pages, at list prices. */

/** GET /models: the models of a `kind`; with `q` only those that have all of its words. */
export async function list(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const { kind, q } = req.query as { kind?: unknown; q?: unknown };
  const asked = typeof q === 'string' ? q.trim().slice(0, 100) : '';
  const chosen = typeof kind === 'string' && Object.hasOwn(kindWords, kind) ? kind : null;
  const models = [...deps.catalog().models.values()].filter((model) => isAsked(model, asked));
  const shown = models.filter((model) => chosen === null || model.kind === chosen);
  const speech = speechOf(req);
  const { say } = speech;
  const title = say(['Models and prices', 'Модели и цены']);
  return sendPage(req, reply, deps, {
    title,
    description: say([
      'Every model of this service, with its price.',
      'Все модели этого сервиса и их цены.',
    ]),
    path: '/models',
    speech,
    body: `<h1>${title}</h1>
${searchForm(speech, asked)}
${kindLinks(speech, models, chosen, asked)}
${shown.length === 0 ? `<p>${say(noneFits)}</p>` : cardsOf(shown, speech, await deps.runTimes())}
<p class="dim">${say(aboutPrices)}</p>`,
  });
}

const noneFits: Words = [
  'No model fits. Try fewer words.',
  'Ни одна модель не подходит. Попробуйте меньше слов.',
];
const estimate = link('/docs/api/models#post-estimate', 'POST /estimate');
const asJson = link('/v1/models', '/v1/models');
const aboutPrices: Words = [
  `These are list prices in US dollars; of text, of a million tokens. ${estimate} says the exact price of a request. Programs read ${asJson}.`,
  `Это цены в долларах США; для текста — за миллион токенов. Точную цену запроса называет ${estimate}. Программы читают ${asJson}.`,
];

/** Looks for models; `more` is HTML behind the button. */
export function searchForm({ say, at }: Speech, asked: string, more = ''): string {
  return `<form action="${at('/models')}" role="search"${more === '' ? ' class="search"' : ''}>
<input type="search" name="q" aria-label="${say(['Search the models', 'Поиск моделей'])}"
value="${escape(asked)}" maxlength="100"
placeholder="${say(['What do you want to make?', 'Что вы хотите сделать?'])}">
<button>${say(['Search', 'Найти'])}</button>
${more}</form>`;
}

/** Links to the models of each kind, with their numbers. */
export function kindLinks(
  { say, at }: Speech,
  models: Model[],
  chosen: string | null,
  asked = '',
): string {
  const words = asked === '' ? '' : `q=${encodeURIComponent(asked)}`;
  const chip = (kind: string | null, title: string, count: number) => {
    const query = [kind === null ? '' : `kind=${kind}`, words].filter(Boolean).join('&');
    return link(at(`/models${query && `?${query}`}`), `${title} ${count}`, kind === chosen);
  };
  const chips = Object.entries(kindWords).map(([kind, title]) => {
    const count = models.filter((model) => model.kind === kind).length;
    return count === 0 ? '' : chip(kind, say(title), count);
  });
  return `<nav class="chips" aria-label="${say(['Kinds', 'Виды'])}">
${chip(null, say(['All', 'Все']), models.length)}
${chips.join('\n')}</nav>`;
}

function isAsked({ id, name, task, description }: Model, asked: string): boolean {
  const text = `${id} ${name} ${task} ${description}`.toLowerCase();
  return asked
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** GET /models/{model_id} */
export async function read(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const path = (req.params as { '*': string })['*'];
  const { models } = deps.catalog();
  const model = models.get(path);
  const sampled = models.get(path.replace(/\/sample\.\w+$/, ''));
  if (sampled && !model && samplePath(sampled) === `/models/${path}`)
    return sendSample(req, reply, sampled, deps);
  if (!model) return sendMissingPage(req, reply, deps);
  const { id, name, description } = model;
  const picture = samplePath(model);
  const speech = speechOf(req);
  return sendPage(req, reply, deps, {
    title: name,
    description:
      description || speech.say([`${name}: price, inputs and code.`, `${name}: цена, поля и код.`]),
    path: `/models/${id}`,
    speech,
    ...(picture !== null && { picture }),
    body: bodyOf(model, deps.links.baseUrl, speech, await deps.runTimes()),
  });
}

/** GET /models/{model_id}/sample.svg, or with the ending of the operator's file. */
async function sendSample(
  req: FastifyRequest,
  reply: FastifyReply,
  model: Model,
  deps: WebDeps,
): Promise<unknown> {
  reply.header('content-security-policy', "default-src 'none'");
  if (model.sample === undefined) return sendText(req, reply, 'svg', paintSample(model));
  const sample = await deps.web.readSample(model.sample).catch(() => null);
  if (sample === null) return sendMissingPage(req, reply, deps);
  const { bytes, content_type } = sample;
  const etag = `"${hash('sha256', bytes, 'hex').slice(0, 24)}"`;
  return sendCached(req, reply, { etag, type: content_type, body: bytes, isPrivate: false });
}

function bodyOf(model: Model, baseUrl: string, { say, at }: Speech, times: RunTimes): string {
  const { id, name, description, kind, input_schema, example } = model;
  const entry = catalogEntry(model);
  const inputs = inputRows(input_schema, say);
  const shown =
    inputs.length === 0
      ? `<p>${say(['The usual fields of the call.', 'Обычные поля вызова.'])}</p>`
      : table(fieldHeads.map(say), inputs);
  const tryIt = `<a class="button" href="/studio/${escape(id)}">${say(['Try it', 'Попробовать'])}</a>`;
  const call = kind === 'text' ? '/docs/api/chat' : '/docs/api/queue';
  const json = link(`/v1/models/${id}`, say(['this model as JSON', 'эта модель в JSON']));
  const most = escape(say([maxWords(entry), russianMost(entry)]));
  return `<nav class="crumbs" aria-label="${say(['Where you are', 'Где вы'])}">
${link(at('/models'), say(['Models', 'Модели']))}</nav>
<div class="model"><div>
<h1>${escape(name)}</h1>
<p class="dim">${escape(factsOf(model, say, times))} · <code>${escape(id)}</code></p>
${cover(model)}
<p>${escape(description)}</p></div>
<div class="buy"><h2>${say(['Price', 'Цена'])}</h2>
${table([say(['What', 'Что']), say(['Price', 'Цена'])], priceRows(entry, say))}
<p class="dim">${say([`Up to ${most} a request.`, `Не больше: ${most} за запрос.`])}
${link('/docs/pricing', say(['How prices are counted', 'Как считаются цены']))}</p>
${model.stopped ? `<p>${stoppedLine(model, say)}</p>` : tryIt}
<p class="dim">${say(promise)}</p></div>
</div>
<h2 id="code">${say(['Code', 'Код'])}</h2>
${codeOf(model, baseUrl)}
<h2 id="inputs">${say(['Inputs', 'Поля'])}</h2>
${shown}
<p>${say([`See ${link(call, 'the call')}, and ${json}.`, `См. ${link(call, 'вызов')} и ${json}.`])}</p>
<h2 id="example">${say(['Example', 'Пример'])}</h2>
${codeBlock(JSON.stringify(example, null, 2), 'json')}`;
}

/** `maxWords` in Russian. */
function russianMost({ max, max_unit, ...tokens }: ReturnType<typeof catalogEntry>): string {
  const grouped = (count = 0) => count.toLocaleString('ru-RU');
  const { context_tokens: input, max_output_tokens: output } = tokens;
  if (input !== undefined)
    return `${grouped(input)} токенов вход, ${grouped(output)} токенов выход`;
  const units: Record<string, string> = { seconds: 'с', images: 'картинок', megapixels: 'Мп' };
  return max === 0 ? 'не указано' : `${grouped(max)} ${units[max_unit] ?? max_unit}`;
}

/** The choices, each with its price of a unit. */
function priceRows(entry: ReturnType<typeof catalogEntry>, say: Speech['say']): string[][] {
  const { price, unit, price_by_resolution: rates, extras } = entry;
  const each = escape(say(unitName(unit)));
  const more = extras.map(({ label, add_usd }) => [escape(label), `+ ${usd(add_usd)} / ${each}`]);
  if (typeof price === 'object') {
    return Object.entries(tokenRates).flatMap(([field, title]) => {
      const rate = price[field as keyof typeof price];
      return rate === undefined ? [] : [[say(title), `${usd(rate)} / ${each}`]];
    });
  }
  const choices = Object.entries(rates ?? { [say([`Each ${each}`, `Цена за: ${each}`])]: price });
  return [...choices.map(([title, rate]) => [escape(title), `${usd(rate)} / ${each}`]), ...more];
}

const tokenRates: Record<string, Words> = {
  input: ['In', 'Вход'],
  cached_input: ['In, from cache', 'Вход, из кэша'],
  cache_write: ['To cache', 'В кэш'],
  output: ['Out', 'Выход'],
};

const fieldHeads: Words[] = [
  ['Field', 'Поле'],
  ['Type', 'Тип'],
  ['Default', 'По умолчанию'],
  ['About', 'О поле'],
];

function inputRows(schema: Record<string, unknown>, say: Speech['say']): string[][] {
  const { properties, required } = schema;
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(isObject(properties) ? properties : {}).map(([name, about]) => {
    const field = isObject(about) ? about : {};
    const mark = needed.includes(name) ? `<br><span class="dim">${say(mustBeGiven)}</span>` : '';
    const usual = field.default === undefined ? '' : escape(written(field.default));
    const cells = [escape(typeOf(field)), usual, escape(limitsOf(field, say))];
    return [`<code>${escape(name)}</code>${mark}`, ...cells];
  });
}

function typeOf({ type, items }: Record<string, unknown>): string {
  if (type === 'array' && isObject(items)) return `list of ${typeOf(items)}`;
  return Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any';
}

/** Limits of a JSON Schema in words. */
const limits: [keyword: string, words: Words][] = [
  ['minimum', ['From', 'От']],
  ['maximum', ['Up to', 'До']],
  ['minLength', ['Least characters', 'Знаков не меньше']],
  ['maxLength', ['Most characters', 'Знаков не больше']],
  ['minItems', ['Least items', 'Элементов не меньше']],
  ['maxItems', ['Most items', 'Элементов не больше']],
];
const mustBeGiven: Words = ['required', 'обязательно'];
const choose: Words = ['One of', 'Одно из'];

function limitsOf(field: Record<string, unknown>, say: Speech['say']): string {
  const { description, enum: choices } = field;
  const parts = [
    ...(typeof description === 'string' ? [description.replace(/\.$/, '')] : []),
    ...(Array.isArray(choices) ? [`${say(choose)}: ${choices.map(written).join(', ')}`] : []),
    ...limits.flatMap(([keyword, words]) =>
      field[keyword] === undefined ? [] : [`${say(words)}: ${written(field[keyword])}`],
    ),
  ];
  return parts.map((part) => `${part}.`).join(' ');
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
