import type { Catalog, Model } from '../../core/catalog/catalog.ts';
import { errors, failures } from '../../core/errors.ts';
import { price } from '../../core/price/price.ts';
import { keyHeader, programs, shellWord } from '../../core/snippets.ts';
import { keysOf } from '../../lib/records.ts';
import { entries } from '../site/entries.ts';
import { advice, failureAdvice } from './advice.ts';
import { catalogLines } from './guide-catalog.ts';
import { readProse, type ApiProse } from './prose.ts';

/** The parts of the guide that depend on the service. */
interface GuideSettings {
  /** Ends in /v1. */
  baseUrl: string;
  /** Origin of the public pages; null: this service has none. */
  site: string | null;
}

/** Read with the first guide. The files change only with a new version of the service. */
let prose: ApiProse | undefined;

/** GET /llms.txt: enough to get from a key to a finished generation, and the live catalog. */
export function guideText(catalog: Catalog, { baseUrl, site }: GuideSettings): string {
  const models = [...catalog.models.values()];
  const { image, media, chat } = cheapestOf(models);
  const parts = [
    intro(baseUrl),
    ...sectionsOf(always),
    ...(media ? sectionsOf(ofMedia(media)) : []),
    ...(image ? sectionsOf(ofImage(image)) : []),
    ...(chat ? sectionsOf(ofChat(chat)) : []),
    media && library(baseUrl, media),
    errorLines(),
    site === null ? undefined : pageLines(site),
    `## Catalog\n\nOnly required inputs are named.\n\n${catalogLines(models)}`,
  ];
  const text = parts.filter((part) => part !== undefined).join('\n\n');
  return `${text.replaceAll('$BASE', baseUrl)}\n`;
}

/** The cheapest models for examples. `media`: the image model, or the cheapest other one. */
export function cheapestOf(models: Model[]): Record<'image' | 'media' | 'chat', Model | undefined> {
  const image = cheapest(models.filter(({ task }) => task === 'text-to-image'));
  const media = image ?? cheapest(models.filter(({ kind }) => kind !== 'text'));
  return { image, media, chat: cheapest(models.filter(({ kind }) => kind === 'text')) };
}

/** The cheapest model, because readers copy and run the example. */
function cheapest(models: Model[]): Model | undefined {
  const [first] = models.toSorted((a, b) => Number(sampleCost(a) - sampleCost(b)));
  return first;
}

function sampleCost(model: Model): bigint {
  const tokens = { input_tokens: 1_000_000, output_tokens: 1_000_000 };
  return price(model, model.kind === 'text' ? tokens : model.example).price_usd_micro;
}

function intro(baseUrl: string): string {
  return `# Farebox

> A prepaid gateway to text, image and video models: one API key, one USDT balance, and a price
> that is fixed before the job starts. This page is all you need to get a finished job.

Base address: ${baseUrl}
The same as OpenAPI 3.0, with every field: ${baseUrl}/openapi.json

The commands read the key from a variable, and \`<REQUEST_ID>\` stands for the id of a request:

    export FAREBOX_API_KEY=fbx_...

${bullets(read().overview, ['Key', 'Money', 'JSON'])}`;
}

function read(): ApiProse {
  return (prose ??= readProse());
}

/**
 * A call with its commands. Its first paragraph in docs/api/ is shown, and the points with these
 * names.
 */
type Section = [call: string, commands: string[], points?: string[]];

const withKey = (path: string, more = '') => `curl -s '$BASE${path}' ${keyHeader}${more}`;
const post = (path: string, body: unknown, more = '') =>
  `curl -s '$BASE${path}' ${keyHeader} \\
      -H 'Content-Type: application/json'${more} -d ${shellWord(JSON.stringify(body))}`;

const request = '/requests/<REQUEST_ID>';

const always: Section[] = [
  ['GET /models', ['curl -s $BASE/models']],
  ['GET /models/{model_id}', ['curl -s $BASE/models/<MODEL_ID>']],
  ['GET /balance', [withKey('/balance')]],
  ['GET /deposit-addresses', [withKey('/deposit-addresses')]],
];

function ofMedia({ id, example }: Model): Section[] {
  const upload = " \\\n      -H 'Content-Type: image/png' --data-binary @picture.png";
  const hook = '?webhook_url=https://example.com/hook';
  return [
    ['POST /estimate', [post('/estimate', { model_id: id, input: example })]],
    [
      'POST /queue/{model_id}',
      [post(`/queue/${id}`, example, ' -H "Idempotency-Key: job-$(date +%s)"')],
      ['`Prefer: wait=60`', 'Repeats', 'Media fields', 'Unknown fields'],
    ],
    [
      'GET /requests/{request_id}/status',
      [withKey(`${request}/status?wait=60&until=final`), withKey(`${request}/status`)],
    ],
    ['GET /requests/{request_id}/status/stream', [withKey(`${request}/status/stream`, ' -N')]],
    ['GET /requests/{request_id}/response', [withKey(`${request}/response`)]],
    ['GET /requests/{request_id}/output/{index}', ["curl -sL -o output '<URL>'"]],
    ['POST /requests/{request_id}/cancel', [withKey(`${request}/cancel`, ' -X POST')]],
    ['GET /requests/{request_id}', [withKey(request)]],
    ['GET /requests', [withKey('/requests?status=FAILED&limit=20')]],
    ['GET /usage', [withKey('/usage?by=model&from=YYYY-MM-DD')]],
    ['POST /files', [withKey('/files', upload)]],
    ['POST {webhook_url}', [post(`/queue/${id}${hook}`, example)]],
  ];
}

function ofImage({ id }: Model): Section[] {
  const body = { model: id, prompt: 'a lighthouse at dusk', response_format: 'url' };
  return [['POST /images/generations', [post('/images/generations', body)]]];
}

function ofChat({ id }: Model): Section[] {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const body = { model: id, messages, max_tokens: 100 };
  const points = ['Cost', 'Leaving', 'Streams'];
  return [
    ['POST /chat/completions', [post('/chat/completions', body)], points],
    ['POST /responses', []],
    ['POST /messages', []],
  ];
}

function sectionsOf(sections: Section[]): string[] {
  return sections.map(([call, commands, points = []]) => {
    const { summary, description } = read().calls.get(call)!;
    const [first = '', second = ''] = description.split('\n\n');
    const start = first.endsWith(':') ? `${first}\n\n${second}` : first;
    const shown = [start, bullets(description, points), ...commands.map((line) => `    ${line}`)];
    return `## ${summary}\n\n${call}\n\n${shown.filter((text) => text !== '').join('\n\n')}`;
  });
}

/** The points of a Markdown list that begin with these names in bold. */
function bullets(markdown: string, names: string[]): string {
  const points = markdown.split(/\n(?=- \*\*)|\n\n/);
  const named = names.map((name) => points.find((point) => isCalled(point, name)));
  // The example that a colon leads to is not shown.
  return named.map((point) => (point ?? '').replace(/:$/, '.')).join('\n');
}

function isCalled(point: string, name: string): boolean {
  return point.startsWith(`- **${name}**`) || point.startsWith(`- **${name}.**`);
}

function library(baseUrl: string, { id, kind, example }: Model): string {
  const code = programs({ base_url: baseUrl, model_id: id, kind, input: example });
  const indented = (text: string) => text.replaceAll(/^(?=.)/gm, '    ');
  return `## The command and the library

The package @farebox/client has both. They upload, wait and retry by themselves.

${indented(code.fare)}

${indented(code.JavaScript)}`;
}

function errorLines(): string {
  const codes = keysOf(errors);
  const codeLines = codes.map((code) => `- ${errors[code].status} ${code}: ${advice[code].do}`);
  const failureLines = keysOf(failures).map((code) => {
    const { when, do: then } = failureAdvice[code];
    return `- ${code}: ${when} ${then}`;
  });
  return `## Errors

An error reply: {"error":{"code","message","type","param","request_id","details"?}}. Decide by code;
message says what is wrong with this call. 429, 500, 502, 503, and 409 with Retry-After: send the
call again with the same Idempotency-Key, after the time in Retry-After, waiting longer each time.
But with "x-should-retry: false" a 502 is a request of /images that FAILED, and stays so under its
Idempotency-Key: take a new one; a 503 with details.reason "stopped" is a model that the operator
has stopped: take another model. All other errors: change the call before you send it again.

${codeLines.join('\n')}

A FAILED request gives the reason in error.code of its status. Nothing was charged:

${failureLines.join('\n')}`;
}

function pageLines(site: string): string {
  const pages = entries.map(({ name, title }) => `- ${title}: ${site}/docs/${name}.md`);
  return `## Docs

A page for each model, with code: ${site}/models/<MODEL_ID>

${pages.join('\n')}`;
}
