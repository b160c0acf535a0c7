import type { FastifyReply, FastifyRequest } from 'fastify';
import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Model } from '../../core/catalog/catalog.ts';
import { isObject } from '../../lib/json.ts';
import { maxWords } from '../docs/guide-catalog.ts';
import type { WebDeps } from '../session/visit.ts';
import { cardsOf, cover, kinds, paintSample, sampleOf, taskWords, usd } from './cards.ts';
import { missing } from './docs.ts';
import { codeBlock, escape, link, sendPage, sendText, table } from './frame.ts';
import { codeOf } from './start.ts';

/** The catalog as pages, at list prices. */

/** GET /models: those of a `kind`, and with `q` those whose words have all of its words. */
export async function list(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const { kind, q } = req.query as { kind?: unknown; q?: unknown };
  const asked = typeof q === 'string' ? q.trim().slice(0, 100) : '';
  const chosen = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kind : null;
  const models = [...deps.catalog().models.values()].filter((model) => isAsked(model, asked));
  const shown = models.filter((model) => chosen === null || model.kind === chosen);
  return sendPage(req, reply, deps, {
    title: 'Models and prices',
    description: 'Every model of this service, with its price.',
    path: '/models',
    body: `<h1>Models and prices</h1>
<form action="/models" role="search" class="search">
<input type="search" name="q" aria-label="Search the models" value="${escape(asked)}"
maxlength="100" placeholder="What do you want to make?">
<button>Search</button></form>
${kindLinks(models, chosen, asked)}
${shown.length === 0 ? '<p>No model fits. Try fewer words.</p>' : cardsOf(shown)}
<p class="dim">These are list prices in US dollars; of text, of a million tokens.
${link('/docs/api/models#post-estimate', 'POST /estimate')} says the exact price of a request.
Programs read ${link('/v1/models', '/v1/models')}.</p>`,
  });
}

/** Links to the models of each kind, with their numbers. */
export function kindLinks(models: Model[], chosen: string | null, asked = ''): string {
  const words = asked === '' ? '' : `q=${encodeURIComponent(asked)}`;
  const chip = (kind: string | null, title: string, count: number) => {
    const query = [kind === null ? '' : `kind=${kind}`, words].filter(Boolean).join('&');
    return link(`/models${query && `?${query}`}`, `${title} ${count}`, kind === chosen);
  };
  const chips = Object.entries(kinds).map(([kind, title]) => {
    const count = models.filter((model) => model.kind === kind).length;
    return count === 0 ? '' : chip(kind, title, count);
  });
  return `<nav class="chips" aria-label="Kinds">${chip(null, 'All', models.length)}
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
  const sample = models.get(path.replace(/\/sample\.svg$/, ''));
  if (sample && !model) return sendSample(req, reply, sample, deps);
  if (!model) return missing(reply, deps);
  const { id, name, description } = model;
  const picture = sampleOf(model);
  return sendPage(req, reply, deps, {
    title: name,
    description: description || `${name}: price, inputs and code.`,
    path: `/models/${id}`,
    ...(picture !== null && { picture }),
    body: bodyOf(model, deps.links.baseUrl),
  });
}

/** GET /models/{model_id}/sample.svg */
function sendSample(
  req: FastifyRequest,
  reply: FastifyReply,
  model: Model,
  deps: WebDeps,
): unknown {
  const picture = paintSample(model);
  if (picture === null) return missing(reply, deps);
  reply.header('content-security-policy', "default-src 'none'");
  return sendText(req, reply, 'svg', picture);
}

function bodyOf(model: Model, baseUrl: string): string {
  const { id, name, description, kind, task, input_schema, example } = model;
  const entry = catalogEntry(model);
  const inputs = inputRows(input_schema);
  const shown =
    inputs.length === 0
      ? '<p>The usual fields of the call.</p>'
      : table(['Field', 'Type', 'Default', 'About'], inputs);
  const call = kind === 'text' ? '/docs/api/chat' : '/docs/api/queue';
  return `<nav class="crumbs" aria-label="Where you are">${link('/models', 'Models')}</nav>
<div class="model"><div>
<h1>${escape(name)}</h1>
<p class="dim">${escape(taskWords(task))} · <code>${escape(id)}</code></p>
${cover(model)}
<p>${escape(description)}</p></div>
<div class="buy"><h2>Price</h2>
${table(['What', 'Price'], priceRows(entry))}
<p class="dim">Up to ${escape(maxWords(entry))} a request.
${link('/docs/pricing', 'How prices are counted')}</p>
<a class="button" href="/studio/${escape(id)}">Try it</a>
<p class="dim">The price is fixed before the job starts. A job that fails costs nothing.</p></div>
</div>
<h2 id="code">Code</h2>
${codeOf(model, baseUrl)}
<h2 id="inputs">Inputs</h2>
${shown}
<p>See ${link(call, 'the call')}, and ${link(`/v1/models/${id}`, 'this model as JSON')}.</p>
<h2 id="example">Example</h2>
${codeBlock(JSON.stringify(example, null, 2))}`;
}

/** The choices, each with its price of a unit. */
function priceRows(entry: ReturnType<typeof catalogEntry>): string[][] {
  const { price, unit, price_by_resolution: rates, extras } = entry;
  const more = extras.map(({ label, add_usd }) => [escape(label), `+ ${usd(add_usd)} / ${unit}`]);
  if (typeof price === 'object') {
    const names = {
      input: 'In',
      cached_input: 'In, from cache',
      cache_write: 'To cache',
      output: 'Out',
    };
    return Object.entries(names).flatMap(([field, title]) => {
      const rate = price[field as keyof typeof price];
      return rate === undefined ? [] : [[title, `${usd(rate)} / ${escape(unit)}`]];
    });
  }
  const each = Object.entries(rates ?? { [`Each ${unit}`]: price });
  return [
    ...each.map(([title, rate]) => [escape(title), `${usd(rate)} / ${escape(unit)}`]),
    ...more,
  ];
}

function inputRows(schema: Record<string, unknown>): string[][] {
  const { properties, required } = schema;
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(isObject(properties) ? properties : {}).map(([name, about]) => {
    const field = isObject(about) ? about : {};
    const mark = needed.includes(name) ? '<br><span class="dim">required</span>' : '';
    const usual = field.default === undefined ? '' : escape(written(field.default));
    const cells = [escape(typeOf(field)), usual, escape(limitsOf(field))];
    return [`<code>${escape(name)}</code>${mark}`, ...cells];
  });
}

function typeOf({ type, items }: Record<string, unknown>): string {
  if (type === 'array' && isObject(items)) return `list of ${typeOf(items)}`;
  return Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any';
}

/** Limits of a JSON Schema in words. */
const limits: [keyword: string, words: string][] = [
  ['minimum', 'From'],
  ['maximum', 'Up to'],
  ['minLength', 'Least characters'],
  ['maxLength', 'Most characters'],
  ['minItems', 'Least items'],
  ['maxItems', 'Most items'],
];

function limitsOf(field: Record<string, unknown>): string {
  const { description, enum: choices } = field;
  const parts = [
    ...(typeof description === 'string' ? [description.replace(/\.$/, '')] : []),
    ...(Array.isArray(choices) ? [`One of: ${choices.map(written).join(', ')}`] : []),
    ...limits.flatMap(([keyword, words]) =>
      field[keyword] === undefined ? [] : [`${words}: ${written(field[keyword])}`],
    ),
  ];
  return parts.map((part) => `${part}.`).join(' ');
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
