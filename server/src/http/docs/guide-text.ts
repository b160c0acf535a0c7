import type { Catalog, Model } from '../../core/catalog/catalog.ts';
import { errors, failures } from '../../core/errors.ts';
import { falBase } from '../../core/request/fal.ts';
import { price } from '../../core/price/price.ts';
import { keysOf } from '../../lib/records.ts';
import { advice, failureAdvice } from './advice.ts';
import { catalogLines } from './guide-catalog.ts';

/** What of the guide depends on the service it stands in. */
export interface GuideSettings {
  /** Ends in /v1. */
  baseUrl: string;
  uploadMaxBytes: number;
}

/** GET /llms.txt: enough to get from a key to a finished generation, and the live catalog. */
export function guideText(catalog: Catalog, settings: GuideSettings): string {
  const models = [...catalog.models.values()];
  const picture = cheapest(models.filter(({ task }) => task === 'text-to-image'));
  const media = picture ?? cheapest(models.filter(({ kind }) => kind !== 'text'));
  const chat = cheapest(models.filter(({ kind }) => kind === 'text'));
  const { baseUrl } = settings;
  const parts = [
    intro(baseUrl),
    media && queueSteps(baseUrl, media),
    media && besides(baseUrl, media),
    chat && chatSteps(baseUrl, chat),
    moneyAndLimits(settings),
    errorLines(),
    `## Catalog\n\n${catalogLines(models)}`,
  ];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}

/** What is copied and run is the first call of many, so it costs as little as can be. */
function cheapest(models: Model[]): Model | undefined {
  const [first] = models.toSorted((a, b) => Number(sampleCost(a) - sampleCost(b)));
  return first;
}

function sampleCost(model: Model): bigint {
  const tokens = { input_tokens: 1_000_000, output_tokens: 1_000_000 };
  return price(model, model.kind === 'text' ? tokens : model.example).price_usd_micro;
}

const auth = '-H "Authorization: Key $FAREBOX_API_KEY"';
const jsonType = "-H 'Content-Type: application/json'";

function intro(baseUrl: string): string {
  return `# Farebox

> A prepaid gateway to text, image and video models: one API key, one USDT balance, and a price
> that is fixed before the job starts. This page is all you need to get a finished job.

Base address: ${baseUrl}
The same as OpenAPI 3.0: ${baseUrl}/openapi.json

## Authentication

Every call but GET /models, GET /models/<MODEL_ID>, GET /llms.txt, GET /openapi.json and
GET /farebox-client.tgz needs the key:

    Authorization: Key <API_KEY>

"Bearer <API_KEY>" means the same. Keys begin with fbx_. The lines below expect it in a variable:

    export FAREBOX_API_KEY=fbx_...

## Choose a model

The catalog stands at the end of this page. As JSON, with the input schema and a working example of
each model:

    curl -s ${baseUrl}/models
    curl -s ${baseUrl}/models/<MODEL_ID>

The catalog below lists required inputs only: read /models/<MODEL_ID> for the optional ones before
you use them. A misspelt field is accepted, and named in unknown_inputs of estimate and submit.

Use a model id exactly as listed, slashes and all. A model of kind image or video goes to the queue,
a model of kind text to the chat call.`;
}

function queueSteps(baseUrl: string, model: Model): string {
  const input = shellJson(model.example);
  const body = shellJson({ model_id: model.id, input: model.example });
  const request = `${baseUrl}/requests/<REQUEST_ID>`;
  return `## Make a picture or a video: five calls

1. See the price. Optional; nothing is reserved. The reply has price_usd_micro.

    curl -s ${baseUrl}/estimate ${auth} \\
      ${jsonType} -d ${body}

2. Submit. The body is the model input. Make up a new Idempotency-Key for every job, and repeat it
   only when you repeat the same call: then nothing runs or costs twice. 202 means reserved and
   queued.

    curl -s ${baseUrl}/queue/${model.id} ${auth} \\
      ${jsonType} -H 'Idempotency-Key: job-0001' -d ${input}

   The reply has request_id, status_url, response_url, cancel_url, quoted_usd_micro and
   queue_position.

3. Wait until status is COMPLETED, FAILED or CANCELLED; before that it is IN_QUEUE or IN_PROGRESS.
   One call waits for the end, at most 60 seconds: repeat it while the status is not final. Or ask
   every 2 to 5 seconds, or follow the event stream.

    curl -s '${request}/status?wait=60&until=final' ${auth}
    curl -s ${request}/status ${auth}
    curl -sN ${request}/status/stream ${auth}

   In Python, with the package requests:

    while True:
        told = requests.get(status_url, params={"wait": 60, "until": "final"},
                            headers={"Authorization": f"Key {key}"}).json()
        if told["status"] in ("COMPLETED", "FAILED", "CANCELLED"):
            break

4. Read the output once it is COMPLETED. Pictures are in images[].url, a video in video.url, sound
   in audio.url, words in text. Before that this call answers 409 request_not_ready.

    curl -s ${request}/response ${auth}

5. Download each url as it stands, query and all; it needs no key. Do it within 24 hours, then the
   bytes are deleted (410 expired).

    curl -s -o output '<URL>'`;
}

function besides(baseUrl: string, model: Model): string {
  const request = `${baseUrl}/requests/<REQUEST_ID>`;
  return `## Your own media as input

Any field named url, urls, ..._url or ..._urls takes a public http(s) address, a base64 data:
address, the file_id of an upload, or the url of an output of yours. Send the true Content-Type.
Uploads are kept 7 days. Models of the sandbox also take sandbox:photo, sandbox:film and
sandbox:voice, so they can be tried without a file.

    curl -s ${baseUrl}/files ${auth} \\
      -H 'Content-Type: image/png' --data-binary @picture.png

## Cancel

While IN_QUEUE; the whole reservation is released. Later: 409 not_cancellable.

    curl -s -X POST ${request}/cancel ${auth}

## Look back

    curl -s '${baseUrl}/requests?status=FAILED&limit=20' ${auth}
    curl -s ${request} ${auth}

The card of one request has status, quoted_usd_micro, charged_usd_micro, output_urls and error.
A list goes on with cursor=<next_cursor>.

## The command and the library

The package @farebox/client has both: fare, and a library for JavaScript that uploads, waits and
repeats by itself. This service hands it out. Both read FAREBOX_API_KEY and FAREBOX_BASE_URL.

    npm install --global ${baseUrl}/farebox-client.tgz
    export FAREBOX_BASE_URL=${baseUrl}
    printf %s ${shellJson(model.example)} |
      fare run ${model.id} --yes --input -

    import { Farebox } from '@farebox/client';
    const input = ${JSON.stringify(model.example)};
    const { output, card } = await new Farebox().run('${model.id}', input);

## Code written for fal

@fal-ai/client works here with your key as its credentials and this in its config; subscribe,
queue.* and storage.upload do, run does not:

    requestMiddleware: async (request) => ({
      ...request,
      url: request.url.replace('https://', '${falBase({ baseUrl })}/'),
    }),

It repeats submits by itself, so give each an Idempotency-Key among its headers:

    fal.subscribe('${model.id}', { input, headers: { 'Idempotency-Key': 'job-0001' } })

## Webhook instead of polling

Give webhook_url, in the body or in the query:

    curl -s '${baseUrl}/queue/${model.id}?webhook_url=https://example.com/hook' \\
      ${auth} ${jsonType} -d ${shellJson(model.example)}

When the request is final, one POST with the request card goes there, signed as Standard Webhooks
say (webhook-id, webhook-timestamp, webhook-signature). The secret whsec_... is the account's: the
Webhooks page of the dashboard shows it. The HMAC's key is the part after whsec_, decoded from
base64. It is sent once and is only a signal: fetch response_url with your key, and poll now and
then in case it gets lost.`;
}

function chatSteps(baseUrl: string, model: Model): string {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  return `## Text: the chat call

OpenAI's chat completions, so any of its clients works with this base address.
usage.cost_usd_micro is the charge.

    curl -s ${baseUrl}/chat/completions ${auth} \\
      ${jsonType} -d ${shellJson({ model: model.id, messages, max_tokens: 100 })}

With "stream": true: server-sent events, each "data:" a chunk, then "data: [DONE]". A chunk with a
top-level error is a fault in the middle. Without max_tokens, 4096 completion tokens are reserved
and allowed.

If you leave before the end, a model with on_disconnect "finish" (see GET /models) makes the whole
reply, and all of it is charged; "stop" stops it. With an Idempotency-Key a reply that is not
streamed is always made and kept: repeat the call under that key for it, without a second charge.
A stream that broke off is repeated as far as it came, then an error; for a new reply use a new key.

image_url.url of a message takes a public http(s) address, a base64 data: address or a file_id.

To see what a call would reserve, send its body to /estimate:
{"model_id":"${model.id}","input":{"messages":[...],"max_tokens":100}}

Tools that speak OpenAI's chat completions work. /v1/responses, /v1/messages, /v1/images/generations
and /v1/embeddings are not offered, so Codex CLI and Claude Code do not work.`;
}

function moneyAndLimits({ baseUrl, uploadMaxBytes }: GuideSettings): string {
  return `## Money

    curl -s ${baseUrl}/balance ${auth}

- What the account can spend, what its open requests hold, and how this key's month stands.
- *_usd_micro is a whole number of micro-USD, as a string: 1 USD = 1 USDT = "1000000".
- A submit reserves its price. COMPLETED charges what was delivered, never more than that. FAILED
  and CANCELLED cost nothing.
- Where resolution is left out the dearest one is reserved; duration_seconds counts as 5, num_images
  as 1.

## Limits

- Calls a minute, open jobs and open chat calls, for each key, and open uploads, for each
  account: see the RateLimit-* headers;
  429 has Retry-After.
- A JSON body: 1 MiB; of the chat call 10 MiB. An uploaded file: ${sizeWords(uploadMaxBytes)}.
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

Every one: {"error":{"code","message","type","param","request_id","details"?}}. Go by code; message
says what is wrong with this very call. 429, 500, 502, 503, and 409 with Retry-After: send it again
with the same Idempotency-Key, after the time in Retry-After, waiting longer each time. All others:
do not send it again as it is.

${codeLines.join('\n')}

A request that was accepted and is FAILED says why in error.code of its status. Nothing was charged:

${failureLines.join('\n')}`;
}

function sizeWords(bytes: number): string {
  const mib = bytes / 1024 / 1024;
  return mib >= 1 ? `${Math.floor(mib)} MiB` : `${bytes} bytes`;
}

/** One word for a POSIX shell. */
function shellJson(value: unknown): string {
  return `'${JSON.stringify(value).replaceAll("'", String.raw`'\''`)}'`;
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}
