import type { FastifyReply, FastifyRequest } from 'fastify';
import { catalogEntry } from '../../core/catalog/catalog-entry.ts';
import type { Model } from '../../core/catalog/catalog.ts';
import { isObject } from '../../lib/json.ts';
import { maxWords, priceWords } from '../docs/guide-catalog.ts';
import type { WebDeps } from '../session/visit.ts';
import { missing, sideOf } from './docs.ts';
import { codeBlock, escape, link, sendPage, table } from './frame.ts';
import { codeOf } from './start.ts';

/** The catalog as pages, at list prices. */

const kinds = { image: 'Images', video: 'Video and audio', text: 'Text' };

/** GET /models */
export async function list(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const models = [...deps.catalog().models.values()];
  const parts = Object.entries(kinds).map(([kind, title]) => {
    const rows = models.filter((model) => model.kind === kind).map(rowOf);
    if (rows.length === 0) return '';
    return `<h2 id="${kind}">${title}</h2>${table(['Model', 'Task', 'Price'], rows)}`;
  });
  return sendPage(req, reply, deps, {
    title: 'Models and prices',
    description: 'Every model of this service, with its price.',
    path: '/models',
    side: sideOf(null),
    body: `<h1>Models and prices</h1>
<p>These are list prices in US dollars. ${link('/docs/api/models#post-estimate', 'POST /estimate')}
says the exact price of a request. Programs read ${link('/v1/models', '/v1/models')}.</p>
${parts.join('\n')}`,
  });
}

function rowOf(model: Model): string[] {
  const { id, name, task } = model;
  const shown = `${link(`/models/${id}`, name)}<br><code>${escape(id)}</code>`;
  return [shown, escape(task), escape(priceWords(catalogEntry(model)))];
}

/** GET /models/{model_id} */
export async function read(req: FastifyRequest, reply: FastifyReply, deps: WebDeps) {
  const model = deps.catalog().models.get((req.params as { '*': string })['*']);
  if (!model) return missing(reply, deps);
  const { id, name, description } = model;
  return sendPage(req, reply, deps, {
    title: name,
    description: description || `${name}: price, inputs and code.`,
    path: `/models/${id}`,
    side: sideOf(null),
    body: bodyOf(model, deps.links.baseUrl),
  });
}

function bodyOf(model: Model, baseUrl: string): string {
  const { id, name, description, kind, task, input_schema, example } = model;
  const entry = catalogEntry(model);
  const { resolutions } = entry;
  const facts = [
    ['Id', `<code>${escape(id)}</code>`],
    ['Task', `${escape(task)} (${kind})`],
    ['List price', escape(priceWords(entry))],
    ...entry.extras.map(({ label, field, add_usd }) => [
      'Extra',
      `${escape(`${label}: $${add_usd} more per ${entry.unit}, by`)} <code>${escape(field)}</code>`,
    ]),
    ['Most of one request', escape(maxWords(entry))],
    ...(resolutions.length === 0 ? [] : [['Resolutions', escape(resolutions.join(', '))]]),
  ];
  const inputs = inputRows(input_schema);
  const shown =
    inputs.length === 0
      ? '<p>The usual fields of the call.</p>'
      : table(['Field', 'Type', 'About'], inputs);
  const call = kind === 'text' ? '/docs/api/chat' : '/docs/api/queue';
  return `<h1>${escape(name)}</h1>
<p>${escape(description)}</p>
${table(['Property', 'Value'], facts)}
<p>${link(`/studio/${id}`, 'Try it in the studio')} after signing in. See ${link(call, 'the call')},
${link('/docs/pricing', 'how prices are counted')}, and
${link(`/v1/models/${id}`, 'this model as JSON')}.</p>
<h2 id="inputs">Inputs</h2>
${shown}
<h2 id="example">Example</h2>
${codeBlock(JSON.stringify(example, null, 2))}
<h2 id="code">Code</h2>
${codeOf(model, baseUrl)}`;
}

function inputRows(schema: Record<string, unknown>): string[][] {
  const { properties, required } = schema;
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(isObject(properties) ? properties : {}).map(([name, about]) => {
    const field = isObject(about) ? about : {};
    const mark = needed.includes(name) ? '<br><span class="dim">required</span>' : '';
    return [`<code>${escape(name)}</code>${mark}`, escape(typeOf(field)), escape(limitsOf(field))];
  });
}

function typeOf({ type, items }: Record<string, unknown>): string {
  if (type === 'array' && isObject(items)) return `list of ${typeOf(items)}`;
  return Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any';
}

/** Limits of a JSON Schema in words. */
const limits: [keyword: string, words: string][] = [
  ['default', 'Default'],
  ['minimum', 'From'],
  ['maximum', 'Up to'],
  ['minLength', 'Least characters'],
  ['maxLength', 'Most characters'],
  ['minItems', 'Least items'],
  ['maxItems', 'Most items'],
];

function limitsOf(field: Record<string, unknown>): string {
  const { description, enum: choices } = field;
  const written = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const parts = [
    ...(typeof description === 'string' ? [description.replace(/\.$/, '')] : []),
    ...(Array.isArray(choices) ? [`One of: ${choices.map(written).join(', ')}`] : []),
    ...limits.flatMap(([keyword, words]) =>
      field[keyword] === undefined ? [] : [`${words}: ${written(field[keyword])}`],
    ),
  ];
  return parts.map((part) => `${part}.`).join(' ');
}
