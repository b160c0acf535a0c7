import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Model } from '../../../core/catalog/catalog.ts';
import { imagesInput, readImagesCall, type ImagesDoor } from '../../../core/request/images-call.ts';
import { requestUrls } from '../../../core/request/views.ts';
import { jobHeaders } from '../../call.ts';
import { waitToReply } from '../../connections.ts';
import type { HttpDeps, KeyedRequest } from '../../deps.ts';
import { keyedEndpoint } from '../../endpoint.ts';
import { setSubmitHeaders, webhookQuery } from '../queue.ts';
import type { ImageFields } from '../translated/form-files.ts';
import { receiveBody, submitTranslated } from '../translated/submit.ts';
import { waitForEnd, withWaitingShare } from '../waiting.ts';
import { imagesReply } from './images-reply.ts';
import { ImageEdit, ImageGeneration, ImagesResponse } from './images-schema.ts';

/** OpenAI's Images: each call submits a request to the queue and waits for its end. */

/** Node's fetch gives up 300 seconds after the call, and OpenAI's client repeats the call. */
const waitSeconds = 290;

/** POST /images/generations */
export const generate = keyedEndpoint(
  { rawQuery: webhookQuery, rawBody: ImageGeneration, written: ImagesResponse },
  ({ req, reply }, deps) => makeImages(req, reply, 'generations', deps),
);

/** POST /images/edits: JSON, or a form that holds the images themselves. */
export const edit = keyedEndpoint(
  { rawQuery: webhookQuery, rawBody: ImageEdit, written: ImagesResponse },
  ({ req, reply }, deps) => makeImages(req, reply, 'edits', deps),
);

async function makeImages(
  req: KeyedRequest,
  reply: FastifyReply,
  door: ImagesDoor,
  deps: HttpDeps,
): Promise<unknown> {
  const headers = jobHeaders(req, deps);
  // Without a free slot nothing is submitted, because this caller gets no id to poll.
  return withWaitingShare(req, deps, async (over) => {
    const { submitted, format } = await submitCall(req, reply, door, headers, deps);
    const { request_id, replayed } = submitted;
    // Set before the wait, so that an error has them too.
    setSubmitHeaders(reply, submitted);
    await waitForEnd(request_id, { waitSeconds, over, stop: deps.cutoff }, req, deps);
    const { charged, length, json } = await imagesReply(submitted, format, deps);
    reply.type('application/json; charset=utf-8').headers({
      location: requestUrls(request_id, deps.links).status_url,
      'x-charge-usd-micro': replayed ? '0' : charged,
      'content-length': String(length),
    });
    // Bytes that are written before the earlier replies of the connection would wait in memory.
    if (!(await waitToReply(reply.raw))) return reply.hijack();
    return reply.send(Readable.from(json, { objectMode: false }));
  });
}

/** Submits the call. Its bytes no longer count as held when this returns. */
async function submitCall(
  req: KeyedRequest,
  reply: FastifyReply,
  door: ImagesDoor,
  headers: ReturnType<typeof jobHeaders>,
  deps: HttpDeps,
) {
  const { release, ...sent } = await receiveBody(
    req,
    reply,
    door === 'edits' ? fields : null,
    deps,
  );
  const call = readImagesCall(door, sent.body);
  const { response_format: format, model } = call;
  const { response_format: _, ...body } = sent.body;
  const translate = (row: Model) => imagesInput(call, row);
  const asked = { path: `/images/${door}`, model, translate, ...headers };
  const submitted = await submitTranslated(asked, { ...sent, body }, req, reply, deps);
  release();
  return { submitted, format };
}

const fields: ImageFields = {
  files: { image: 'list', mask: 'one' },
  json: { image: 'image', images: 'image', mask: 'mask' },
  advice: 'Send images as image or image[], and a mask as mask.',
};
