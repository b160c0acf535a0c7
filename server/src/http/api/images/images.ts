import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { demandModel, findModel } from '../../../core/catalog/find-model.ts';
import {
  atOwnField,
  imagesInput,
  readImagesCall,
  type ImagesCall,
  type ImagesDoor,
} from '../../../core/request/images-call.ts';
import { withoutNulls } from '../../../core/catalog/model-input.ts';
import { ApiError } from '../../../core/errors.ts';
import { idempotencyKey } from '../../../core/request/fingerprint.ts';
import { eitherMetadata, metadataHeader, metadataIn } from '../../../core/request/metadata.ts';
import { addresses } from '../../../core/request/views.ts';
import { objectOf } from '../../../lib/json.ts';
import type { FormPart } from '../../../lib/multipart.ts';
import { headerValues } from '../../../lib/outbound/headers.ts';
import type { SubmitResult } from '../../../operations/requests/admit.ts';
import { demandFreeJob, submitJob } from '../../../operations/requests/submit.ts';
import {
  chatMaxBytes,
  formMaxBytes,
  isForm,
  jsonMaxBytes,
  readForm,
  readHeldObject,
  readObject,
} from '../../body.ts';
import { makingCall } from '../../call.ts';
import { turnOf } from '../../connections.ts';
import type { HttpDeps, KeyedRequest } from '../../deps.ts';
import { keyedEndpoint } from '../../endpoint.ts';
import { takeDataImages, withImages } from './data-images.ts';
import { readFormCall, storeImages, type FormCall } from './form-images.ts';
import { imagesReply } from './images-reply.ts';
import { ImageEdit, ImageGeneration, ImagesResponse } from './images-schema.ts';
import { tellSubmit, webhookQuery } from '../queue.ts';
import { ended, inWaitingSlot } from '../waiting.ts';

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
  const { caller } = req;
  const idempotency_key = idempotencyKey(headerValues(req.raw.rawHeaders, 'idempotency-key'));
  demandFreeJob({ caller, idempotency_key }, deps);
  // Without a free slot nothing is submitted, because this caller gets no id to poll.
  return inWaitingSlot(req, deps, async (over) => {
    const { submitted, format } = await submitCall(req, reply, door, idempotency_key, deps);
    const { request_id, replayed } = submitted;
    // Set before the wait, so that an error has them too.
    tellSubmit(reply, submitted);
    await ended(request_id, { waitSeconds, over, stop: deps.cutoff }, req, deps);
    const { charged, length, json } = await imagesReply(submitted, format, deps);
    reply.type('application/json; charset=utf-8').headers({
      location: addresses(request_id, deps.links).status_url,
      'x-charge-usd-micro': replayed ? '0' : charged,
      'content-length': String(length),
    });
    // Bytes that are written before the reply's turn on its connection would wait in memory.
    if (!(await turnOf(reply.raw))) return reply.hijack();
    return reply.send(Readable.from(json, { objectMode: false }));
  });
}

/** Submits the call. Its bytes no longer count as held when this returns. */
async function submitCall(
  req: KeyedRequest,
  reply: FastifyReply,
  door: ImagesDoor,
  idempotency_key: string | null,
  deps: HttpDeps,
) {
  const { release, ...sent } = await received(req, reply, door, deps);
  const call = readImagesCall(door, sent.body);
  const submitted = await submitImages(call, sent, idempotency_key, req, reply, deps);
  release();
  return { submitted, format: call.response_format };
}

/** The JSON of an edit may hold images; its other fields have the limit of every call. */
const jsonOfEdits = {
  maxBytes: chatMaxBytes,
  types: 'multipart/form-data, or as application/json',
  beyond:
    ` Send the images as a form (multipart/form-data) of at most ${formMaxBytes} bytes, or send ` +
    'larger ones to POST /v1/files and their file_id here.',
};

async function received(
  req: KeyedRequest,
  reply: FastifyReply,
  door: ImagesDoor,
  deps: HttpDeps,
): Promise<FormCall & { release: () => void }> {
  if (door === 'edits' && isForm(req)) {
    const read = (parts: FormPart[]) => readFormCall(parts, deps);
    const { form, release } = await readForm(req, reply, read, deps);
    return { ...form, release };
  }
  if (door === 'generations') {
    const body = await readObject(req, reply, jsonMaxBytes, deps);
    return { body, images: [], release: () => {} };
  }
  const { body, size, take, release } = await readHeldObject(req, reply, jsonOfEdits, deps);
  if (size <= jsonMaxBytes) return { body, images: [], release };
  const call = takeDataImages(body);
  take(call.images.reduce((sum, { bytes }) => sum + bytes.length, 0));
  return { ...call, release };
}

/** Throws the `ApiError` that refuses the call, with the call's own name of the field. */
async function submitImages(
  call: ImagesCall,
  { body, images }: FormCall,
  idempotency_key: string | null,
  req: KeyedRequest,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<SubmitResult> {
  const { caller, raw, query } = req;
  const inHeader = metadataIn(headerValues(raw.rawHeaders, metadataHeader));
  const model = modelOf(call, deps);
  demandModel(caller, model.id, 'model');
  const { input, from, metadata: inBody } = imagesInput(call, model);
  const metadata = eitherMetadata(inBody, inHeader);
  const stored = images.length === 0 ? null : await storeImages(images, caller.account_id, deps);
  // `submitJob` compares the webhook, so it is left out here: a repeat may name it in the query.
  const {
    response_format: _format,
    webhook_url: _webhook,
    ...compared
  } = withImages(body, (id) => stored?.digests.get(id) ?? id);
  try {
    const submitted = await submitJob(
      {
        caller,
        model_id: model.id,
        body: input,
        webhook_url: objectOf(query).webhook_url,
        idempotency_key,
        metadata,
        call: makingCall(req, reply),
        compared: { path: `/images/${call.door}`, body: withoutNulls(compared) },
      },
      deps,
    );
    if (submitted.replayed) await stored?.remove();
    return submitted;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A refusal that forbids a retry means that the job may exist, because the database failed.
    if (error.headers['x-should-retry'] === undefined) await stored?.remove();
    throw atOwnField(error, from);
  }
}

function modelOf({ model }: ImagesCall, { catalog }: HttpDeps) {
  try {
    return findModel(catalog(), model);
  } catch (error) {
    throw error instanceof ApiError ? error.at('model') : error;
  }
}
