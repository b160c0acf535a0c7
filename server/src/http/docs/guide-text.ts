import type { Catalog, Model } from '../../core/catalog/catalog.ts';
import { errors, failures } from '../../core/errors.ts';
import { falBase } from '../../core/request/fal.ts';
import { price } from '../../core/price/price.ts';
import { keyHeader as auth, shellWord } from '../../core/snippets.ts';
import { keysOf } from '../../lib/records.ts';
import { advice, failureAdvice } from './advice.ts';
import { entries } from '../site/entries.ts';
import { catalogLines } from './guide-catalog.ts';

/** The parts of the guide that depend on the service. */
export interface GuideSettings {
  /** Ends in /v1. */
  baseUrl: string;
  uploadMaxBytes: number;
  /** Origin of the public pages; null: this service has none. */
  site: string | null;
}

/** GET /llms.txt: enough to get from a key to a finished generation, and the live catalog. */
export function guideText(catalog: Catalog, settings: GuideSettings): string {
  const models = [...catalog.models.values()];
  const { image, media, chat } = cheapestOf(models);
  // fal's client refuses ids without a slash.
  const fal = cheapest(models.filter(({ id, kind }) => kind !== 'text' && id.includes('/')));
  const { baseUrl, site } = settings;
  const parts = [
    intro(settings),
    media && queueSteps(baseUrl, media),
    media && besides(baseUrl, media),
    fal && falClient(baseUrl, fal),
    media && webhooks(settings, media),
    image && oneCall(baseUrl, image),
    chat && chatSteps(baseUrl, chat),
    moneyAndLimits(settings),
    errorLines(),
    site === null ? undefined : pageLines(site),
    `## Catalog\n\n${catalogLines(models)}`,
  ];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
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

const shellJson = (value: unknown) => shellWord(JSON.stringify(value));

const jsonType = "-H 'Content-Type: application/json'";

function intro({ baseUrl, site }: GuideSettings): string {
  const readable = site === null ? '' : ` ${site}/docs/api.md is easier to read.`;
  return `# Farebox

> A prepaid gateway to text, image and video models: one API key, one USDT balance, and a price
> that is fixed before the job starts. This page is all you need to get a finished job.

Base address: ${baseUrl}
The same as OpenAPI 3.0: ${baseUrl}/openapi.json. It is large.${readable}

## Authentication

Every call except GET /models, GET /models/<MODEL_ID>, GET /llms.txt, GET /openapi.json and
GET /farebox-client.tgz needs the key:

    Authorization: Key <API_KEY>

"Bearer <API_KEY>" works too. Keys begin with fbx_. The commands below read the key from a variable:

    export FAREBOX_API_KEY=fbx_...

POST /keys makes further keys, such as one for each customer, with limits. It needs a key of scope
keys, which a person makes on the Keys page of the dashboard. Every other key of an account can read
all of its requests, files, usage and balance.

## Choose a model

The catalog is at the end of this page. As JSON, with the input schema and a working example of each
model:

    curl -s ${baseUrl}/models
    curl -s ${baseUrl}/models/<MODEL_ID>

The catalog below lists required inputs only: read /models/<MODEL_ID> for the optional ones before
you use them. A misspelt field is accepted and listed in unknown_inputs of estimate and submit.

Use a model id exactly as listed, with its slashes. Models of kind image or video go to the queue,
models of kind text to the chat call.`;
}

function queueSteps(baseUrl: string, model: Model): string {
  const input = shellJson(model.example);
  const body = shellJson({ model_id: model.id, input: model.example });
  const request = `${baseUrl}/requests/<REQUEST_ID>`;
  return `## Make an image or a video: five calls

1. See the price. Optional; nothing is reserved. The reply has price_usd_micro.

    curl -s ${baseUrl}/estimate ${auth} \\
      ${jsonType} -d ${body}

2. Submit. The body is the model input. Choose a new Idempotency-Key for every job. If you
   repeat the same call with it, the job still runs and costs once. 202 means reserved and queued.

    curl -s ${baseUrl}/queue/${model.id} ${auth} \\
      ${jsonType} -H "Idempotency-Key: job-$(date +%s)" -d ${input}

   The reply has request_id, status_url, response_url, cancel_url, quoted_usd_micro and
   queue_position. With the header "Prefer: wait=60" (at most 120) a job that is done in time is
   answered with 200, "Preference-Applied: wait" and the output of step 4; otherwise as usual. The
   Location header is the status_url, and GET ${request} has the charge.

3. Wait until status is COMPLETED, FAILED or CANCELLED; before that it is IN_QUEUE or IN_PROGRESS.
   The first call waits for the end, at most 60 seconds: repeat it until the status is final. Or
   poll every 2 to 5 seconds, or follow the event stream.

    curl -s '${request}/status?wait=60&until=final' ${auth}
    curl -s ${request}/status ${auth}
    curl -sN ${request}/status/stream ${auth}

   In Python, with the package requests:

    while True:
        reply = requests.get(status_url, params={"wait": 60, "until": "final"},
                             headers={"Authorization": f"Key {key}"}).json()
        if reply["status"] in ("COMPLETED", "FAILED", "CANCELLED"):
            break

4. Read the output once it is COMPLETED. Images are in images[].url, a video in video.url, audio
   in audio.url, text in text. Before that this call answers 409 request_not_ready.

    curl -s ${request}/response ${auth}

5. Download each url unchanged, with its query; it needs no key. The bytes are deleted after
   24 hours (410 expired).

    curl -s -o output '<URL>'`;
}

function oneCall(baseUrl: string, model: Model): string {
  const prompt = 'a lighthouse at dusk';
  const body = shellJson({ model: model.id, prompt, response_format: 'url' });
  return `## Images in one call, as OpenAI makes them

POST ${baseUrl}/images/generations (model, prompt, n, size, response_format) and /images/edits (also
image, in JSON or as a form) submit to the same queue at the same price, and answer with the images
when they are done, within 290 seconds. data[] has url and b64_json. usage.cost_usd_micro is the
charge. A field that the model cannot take is 400, and param names it. 409 request_not_ready: it
still runs; poll details.status_url.

    curl -s ${baseUrl}/images/generations ${auth} \\
      ${jsonType} -d ${body}

Leave size out where the catalog has no choice. Where it has one, a call without size makes the most
expensive resolution, and is charged for it.`;
}

function besides(baseUrl: string, model: Model): string {
  const request = `${baseUrl}/requests/<REQUEST_ID>`;
  return `## Your own media as input

Any field named url, urls, ..._url or ..._urls takes a public http(s) address, a data:
address, the file_id of an upload, or the url of one of your outputs. Upload with the true
Content-Type. Uploads are kept 7 days. Models of the sandbox also take sandbox:photo, sandbox:film
and sandbox:voice, so you can try them without a file.

    curl -s ${baseUrl}/files ${auth} \\
      -H 'Content-Type: image/png' --data-binary @picture.png

## Cancel

Possible while the status is IN_QUEUE; the reservation is released. Later: 409 not_cancellable.

    curl -s -X POST ${request}/cancel ${auth}

## Past requests

    curl -s '${baseUrl}/requests?status=FAILED&limit=20' ${auth}
    curl -s ${request} ${auth}

The card of one request has status, quoted_usd_micro, charged_usd_micro, output_urls and error.
cursor=<next_cursor> gives the next page of a list. What was spent since a day (UTC), by model:

    curl -s '${baseUrl}/usage?by=model&from=YYYY-MM-DD' ${auth}

by also takes day, key and metadata.NAME, with a NAME of your header x-metadata, such as
metadata.customer. An unknown parameter of these lists is 400.

## The command and the library

The package @farebox/client has both: the command fare, and a JavaScript library that uploads,
waits and retries by itself. This service serves it. Both read FAREBOX_API_KEY and FAREBOX_BASE_URL.

    npm install --global ${baseUrl}/farebox-client.tgz
    export FAREBOX_BASE_URL=${baseUrl}
    printf %s ${shellJson(model.example)} |
      fare run ${model.id} --yes --input -

    import { Farebox } from '@farebox/client';
    const input = ${JSON.stringify(model.example)};
    const { output, card } = await new Farebox().run('${model.id}', input);`;
}

function falClient(baseUrl: string, model: Model): string {
  return `## Code written for fal

subscribe, run, queue.* and storage.upload of @fal-ai/client work here. Give it your key as its
credentials, and add this to its config:

    requestMiddleware: async (request) => ({
      ...request,
      url: request.url.replace('https://', '${falBase({ baseUrl })}/'),
    }),

It retries submits by itself, so give each an Idempotency-Key in its headers:

    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    fal.subscribe('${model.id}', { input, headers })`;
}

function webhooks({ baseUrl, site }: GuideSettings, model: Model): string {
  const page = site === null ? 'the Webhooks page of the dashboard' : `${site}/dashboard/webhooks`;
  return `## Webhook instead of polling

Send webhook_url, in the body or in the query:

    curl -s '${baseUrl}/queue/${model.id}?webhook_url=https://example.com/hook' \\
      ${auth} ${jsonType} -d ${shellJson(model.example)}

When the request is final, Farebox sends the request card there in one POST, signed as in Standard
Webhooks: webhook-signature has "v1," and the base64 of the HMAC-SHA256 of
"<webhook-id>.<webhook-timestamp>.<body as it came>". The account's secret whsec_... is on
${page}; the HMAC key is the part after whsec_, decoded from base64.

The POST is sent once, and rarely again with the same webhook-id. It is only a signal: fetch
response_url with your key, and poll now and then in case it gets lost. The address must be public.

"fare webhook listen --forward-to http://localhost:3000/hook" brings the cards to your computer. It
signs each card itself, with FAREBOX_WEBHOOK_SECRET or a new secret that it prints, so you can test
your verification without the dashboard.`;
}

function chatSteps(baseUrl: string, model: Model): string {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  return `## Text: the chat call

The call is OpenAI's chat completions, so any OpenAI client works with this base address.
usage.cost_usd_micro is the charge.

    curl -s ${baseUrl}/chat/completions ${auth} \\
      ${jsonType} -d ${shellJson({ model: model.id, messages, max_tokens: 100 })}

"stream": true sends server-sent events: each "data:" is a chunk, the last is "data: [DONE]". Add
"stream_options":{"include_usage":true}: the chunk before [DONE] then has usage.cost_usd_micro. A
chunk with a top-level error reports a failure in the middle. Without max_tokens, 4096 completion
tokens are reserved and allowed.

If you disconnect before the end, a model with on_disconnect "finish" (see GET /models) completes
the reply and charges all of it; with "stop" it stops. With an Idempotency-Key a reply that is not
streamed is always completed and kept: repeat the call with that key to get it, without a second
charge. A repeated stream sends what came before it broke off, then an error; use a new key for a
new reply.

image_url.url of a message takes a public http(s) address, a data: address or a file_id.

To see what a call would reserve, send its body to /estimate:
{"model_id":"${model.id}","input":{"messages":[...],"max_tokens":100}}

Tools that speak OpenAI's chat completions work. The same models answer in two more forms. POST
${baseUrl}/responses is OpenAI's Responses, stateless and without hosted tools, for Codex and
others. POST ${baseUrl}/messages and /messages/count_tokens are Anthropic's Messages, also with the
key in x-api-key; Claude Code and Anthropic's SDKs take the base address without /v1.
/v1/embeddings is not offered.`;
}

function moneyAndLimits({ baseUrl, uploadMaxBytes }: GuideSettings): string {
  return `## Money

    curl -s ${baseUrl}/balance ${auth}

- The reply has what the account can spend, what its open requests hold, and what this key has
  spent this month.
- *_usd_micro is a whole number of micro-USD, as a string: 1 USD = 1 USDT = "1000000".
- To top up, send USDT: ${baseUrl}/deposit-addresses has the account's own address, the token and
  the minimum of each network, and ${baseUrl}/deposits what has arrived. Send only this token, only
  on this network, at least the minimum: less is neither credited nor listed. An empty list: ask
  the operator, or use a voucher. A 402 has the addresses in details.top_up.
- A submit reserves its price. COMPLETED charges what was delivered, at most the reservation. FAILED
  and CANCELLED cost nothing.
- Without a resolution the most expensive one is reserved; duration_seconds counts as 5, num_images
  as 1.

## Limits

- Each key has limits of calls a minute, open jobs and open chat calls; each account has a limit of
  open uploads. The RateLimit-* headers show the calls left; 429 has Retry-After.
- A JSON body: 1 MiB, for chat and /images/edits 10 MiB.
- An uploaded file: ${sizeWords(uploadMaxBytes)}.
- An Idempotency-Key: 1 to 255 visible ASCII characters, kept 30 days.`;
}

function errorLines(): string {
  const codes = keysOf(errors);
  const codeLines = codes.map(
    (code) => `- ${errors[code].status} ${code}: ${plain(advice[code].do)}`,
  );
  const failureLines = keysOf(failures).map((code) => {
    const { when, do: then } = failureAdvice[code];
    return `- ${code}: ${plain(when)} ${plain(then)}`;
  });
  return `## Errors

An error reply: {"error":{"code","message","type","param","request_id","details"?}}. Decide by code;
message says what is wrong with this call. 429, 500, 502, 503, and 409 with Retry-After: send the
call again with the same Idempotency-Key, after the time in Retry-After, waiting longer each time.
But with "x-should-retry: false" a 502 is a request of /images that FAILED, and stays so under its
Idempotency-Key: take a new one. All other errors: change the call before you send it again.

${codeLines.join('\n')}

A FAILED request gives the reason in error.code of its status. Nothing was charged:

${failureLines.join('\n')}`;
}

function pageLines(site: string): string {
  const pages = entries.map(({ name, title }) => `- ${title}: ${site}/docs/${name}.md`);
  return `## Docs

All details, as Markdown. A page for each model, with code: ${site}/models/<MODEL_ID>

${pages.join('\n')}`;
}

function sizeWords(bytes: number): string {
  const mib = bytes / 1024 / 1024;
  return mib >= 1 ? `${Math.floor(mib)} MiB` : `${bytes} bytes`;
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}
