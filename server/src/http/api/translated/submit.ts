import type { FastifyReply } from 'fastify';
import type { Model } from '../../../core/catalog/catalog.ts';
import { demandModel, findModel } from '../../../core/catalog/find-model.ts';
import { withoutNulls } from '../../../core/catalog/model-input.ts';
import { atOwnField, type TranslatedInput } from '../../../core/request/translated.ts';
import { ApiError } from '../../../core/errors.ts';
import { eitherMetadata, type Metadata } from '../../../core/request/metadata.ts';
import { objectOf } from '../../../lib/json.ts';
import type { FormPart } from '../../../lib/multipart.ts';
import type { SubmitResult } from '../../../operations/requests/admit.ts';
import { submitJob, type CallTrace } from '../../../operations/requests/submit.ts';
import {
  chatMaxBytes,
  formMaxBytes,
  isForm,
  jsonMaxBytes,
  readForm,
  readHeldObject,
  readObject,
} from '../../body.ts';
import { recordModelForLog } from '../../call.ts';
import type { CatalogDeps, HttpDeps, KeyedRequest } from '../../deps.ts';
import { submitOnce } from '../../submit-once.ts';
import { takeDataImages, withImages } from './data-files.ts';
import { readFormCall, storeImages, type FormCall, type ImageFields } from './form-files.ts';

/** Calls of another API that make a job: their images are stored, their fields translated. */

/** The JSON of a call may hold images; its other fields have the limit of every call. */
const jsonWithImages = {
  maxBytes: chatMaxBytes,
  types: 'multipart/form-data, or as application/json',
  beyond:
    ` Send the images as a form (multipart/form-data) of at most ${formMaxBytes} bytes, or send ` +
    'larger ones to POST /v1/files and their file_id here.',
};

export interface ReceivedCall extends FormCall {
  /** Which fields were searched for images; null: none. */
  fields: ImageFields | null;
  /** The bytes of the body no longer count as held. */
  release: () => void;
}

/** The call's body, as JSON or as a form. `fields`: null if the call takes no images. */
export async function receiveBody(
  req: KeyedRequest,
  reply: FastifyReply,
  fields: ImageFields | null,
  deps: HttpDeps,
): Promise<ReceivedCall> {
  if (fields === null) {
    const body = await readObject(req, reply, jsonMaxBytes, deps);
    return { body, images: [], fields, release: () => {} };
  }
  if (isForm(req)) {
    const read = (parts: FormPart[]) => readFormCall(parts, fields, deps);
    const { form, release } = await readForm(req, reply, read, deps);
    return { ...form, fields, release };
  }
  const { body, size, take, release } = await readHeldObject(req, reply, jsonWithImages, deps);
  if (size <= jsonMaxBytes) return { body, images: [], fields, release };
  const call = takeDataImages(body, fields);
  take(call.images.reduce((sum, { bytes }) => sum + bytes.length, 0));
  return { ...call, fields, release };
}

interface TranslatedCall {
  /** Repeats of a call have the same path and body. */
  path: string;
  model: string;
  translate: (model: Model) => TranslatedInput;
  idempotency_key: string | null;
  /** From the header `x-metadata`. */
  metadata: Metadata | null;
}

/** Throws the `ApiError` that refuses the call, with the call's own name of the field. */
export async function submitTranslated(
  { path, model: model_id, translate, idempotency_key, metadata: inHeader }: TranslatedCall,
  { body, images, fields }: Pick<ReceivedCall, 'body' | 'images' | 'fields'>,
  req: KeyedRequest,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<SubmitResult> {
  const { caller, query } = req;
  const model = modelOf(model_id, deps);
  recordModelForLog(req, model.id, deps);
  demandModel(caller, model.id, 'model');
  const { input, from, metadata: inBody } = translate(model);
  const metadata = eitherMetadata(inBody, inHeader);
  const stored = images.length === 0 ? null : await storeImages(images, caller.account_id, deps);
  const named = fields && withImages(body, fields, (id) => stored?.digests.get(id) ?? id);
  // `submitJob` compares the webhook, so it is left out here: a repeat may name it in the query.
  const { webhook_url: _, ...compared } = named ?? body;
  try {
    const wanted = {
      caller,
      model_id: model.id,
      body: input,
      webhook_url: objectOf(query).webhook_url,
      idempotency_key,
      metadata,
      compared: { path, body: withoutNulls(compared) },
    };
    const submit = (call: CallTrace) => submitJob({ ...wanted, call }, deps);
    const submitted = await submitOnce(req, reply, deps, submit);
    if (submitted.replayed) await stored?.remove();
    return submitted;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A refusal that forbids a retry means that the job may exist, because the database failed.
    if (error.headers['x-should-retry'] === undefined) await stored?.remove();
    throw atOwnField(error, from);
  }
}

function modelOf(model: string, { catalog }: CatalogDeps): Model {
  try {
    return findModel(catalog(), model);
  } catch (error) {
    throw error instanceof ApiError ? error.at('model') : error;
  }
}
