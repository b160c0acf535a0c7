import type { ErrorCode } from '../../core/errors.ts';
import { uploadForm } from '../api/files.ts';
import { imageEditForm } from '../api/images/images-schema.ts';
import { fileForm } from '../replicate/replicate-schema.ts';
import { videoForm } from '../videos/videos-schema.ts';
import { ModelOutput, QueuedRequest } from '../requests/schema.ts';
import * as s from '../schemas/schema.ts';
import { keySecurity } from './about.ts';
import type { HeaderUse } from './headers.ts';
import { ifNoneMatch, ofDownload, ofRequest, ofSubmit, ofWebhook } from './parameters.ts';
import { bytesOf, type RouteDocs } from './route-docs.ts';

/** Facts for OpenAPI about the calls for callers, beside their schemas and their prose. */

export const createOwnKey: RouteDocs = { operationId: 'createOwnKey', replies: { 201: {} } };

const cacheable: Pick<RouteDocs, 'headers' | 'replies'> = {
  headers: [ifNoneMatch],
  replies: {
    200: { headers: ['ETag', 'CacheControl'] },
    304: { headers: ['ETag', 'CacheControl'] },
  },
};

export const listModels: RouteDocs = {
  operationId: 'listModels',
  ...cacheable,
  security: [{}, ...keySecurity],
};

export const readModel: RouteDocs = {
  operationId: 'readModel',
  ...cacheable,
  errors: ['bad_request', 'not_found'],
};

export const guide: RouteDocs = cacheableAs('readGuide', 'text/plain');

export const client: RouteDocs = {
  ...cacheableAs('readClient', 'application/gzip'),
  errors: ['not_found'],
};

function cacheableAs(operationId: string, type: string): RouteDocs {
  const format = type.startsWith('text/') ? {} : { format: 'binary' };
  const content = { [type]: { schema: { type: 'string', ...format } } };
  const { headers, replies } = cacheable;
  return { operationId, headers, replies: { ...replies, 200: { ...replies![200], content } } };
}

export const openapi: RouteDocs = {
  operationId: 'readOpenapi',
  replies: { 200: { headers: ['CacheControl'] } },
};

/** Codes of a call that prices its input. */
const ofInput: ErrorCode[] = ['unknown_model', 'forbidden', 'unpriceable', 'invalid_input'];

export const estimate: RouteDocs = {
  operationId: 'estimate',
  errors: [...ofInput, 'bad_messages', 'context_length_exceeded'],
};

/** Codes of a call that reserves. */
const ofReserve: ErrorCode[] = [
  'insufficient_balance',
  'key_limit_reached',
  'idempotency_conflict',
];

/**
 * The output in place of the queued request. It names two fields of that one, because otherwise
 * generated clients give both the type `unknown` in any reply. A field with a default is always a
 * text for `openapi-typescript`, so its callers can use the id of a submit without a check.
 */
const waitedOutput = s.openObject(
  {
    ...ModelOutput.properties,
    request_id: s.optional(s.text('Only in a queued request.', { default: '' })),
    status: s.optional(s.choice(['COMPLETED'], 'Only in a queued request, as `IN_QUEUE`.')),
  },
  { description: 'The output, with `Preference-Applied` alone.' },
);

export const submit: RouteDocs = {
  operationId: 'submit',
  headers: ofSubmit,
  replies: {
    200: {
      headers: ['Location', 'Replayed?', 'PreferenceApplied?', 'Charge?', 'Ignored?'],
      schema: s.either([QueuedRequest, waitedOutput]),
    },
    202: { headers: ['Location', 'Ignored?'] },
  },
  errors: [...ofInput, 'bad_webhook_url', 'use_chat_completions', ...ofReserve],
  webhook: { operationId: 'notification', call: 'POST {webhook_url}', headers: ofWebhook },
};

/** OpenAI's Images. */
function images(operationId: string): RouteDocs {
  return {
    operationId,
    headers: ofRequest,
    replies: { 200: { headers: ['Location', 'Charge', 'Replayed?', 'Ignored?'] } },
    errors: [...submit.errors!, 'request_not_ready', 'expired', 'submit_failed'],
    errorHeaders: {
      400: ['Replayed?'],
      409: ['Replayed?'],
      410: ['Replayed?'],
      502: ['ShouldRetry', 'Replayed?'],
    },
  };
}

export const generateImages = images('generateImages');
export const editImages: RouteDocs = { ...images('editImages'), body: { form: imageEditForm } };

export const createVideo: RouteDocs = {
  operationId: 'createVideo',
  headers: ofRequest,
  body: { form: videoForm },
  replies: { 200: { headers: ['Replayed?', 'Ignored?', 'PollAfter?'] } },
  errors: submit.errors!,
};
export const readVideo: RouteDocs = {
  operationId: 'readVideo',
  replies: { 200: { headers: ['PollAfter?'] } },
};
export const deleteVideo: RouteDocs = { operationId: 'deleteVideo', errors: ['not_cancellable'] };

export const falRun: RouteDocs = {
  operationId: 'falRun',
  headers: ofRequest,
  replies: { 200: { headers: ['FalRequestId', 'Charge', 'Replayed?', 'Ignored?'] } },
  errors: [...ofReserve, 'expired', 'capacity_unavailable'],
  errorsAt: {
    400: {
      codes: ['bad_request', 'bad_webhook_url', 'use_chat_completions', 'request_not_ready'],
      headers: ['FalRequestId?'],
    },
    404: { codes: ['not_found', 'unknown_model'] },
    422: {
      codes: ['invalid_input', 'unpriceable', 'request_not_ready'],
      headers: ['FalRequestId?'],
    },
    499: { codes: ['request_not_ready'], headers: ['FalRequestId'] },
    500: { codes: ['internal_error', 'request_not_ready'], headers: ['FalRequestId?'] },
  },
};

/** A call of Replicate's API that makes a prediction. */
function prediction(operationId: string, path?: string): RouteDocs {
  return {
    operationId,
    ...(path !== undefined && { path }),
    headers: ofSubmit,
    replies: { 201: { headers: ['Replayed?', 'Ignored?'] } },
    errors: ['bad_webhook_url', 'use_chat_completions', ...ofReserve, 'capacity_unavailable'],
    errorsAt: {
      404: { codes: ['not_found', 'unknown_model'] },
      422: { codes: ['invalid_input', 'unpriceable', 'unknown_model'] },
    },
  };
}

export const createPrediction = prediction('createPrediction');
export const createModelPrediction = prediction(
  'createModelPrediction',
  '/replicate/v1/models/{model_id}/predictions',
);
export const readReplicateModel: RouteDocs = {
  operationId: 'readReplicateModel',
  errorsAt: { 404: { codes: ['unknown_model'] } },
};
export const deleteReplicateFile: RouteDocs = {
  operationId: 'deleteReplicateFile',
  replies: { 204: {} },
};

/** A chat in any of its forms. */
function chatCall(operationId: string): RouteDocs {
  return {
    operationId,
    headers: ofRequest,
    replies: {
      200: { headers: ['Charge?', 'Ignored?', 'Replayed?', 'CacheControl?', 'AccelBuffering?'] },
    },
    errors: [...ofPrompt, 'invalid_input', ...ofReserve, 'submit_failed'],
    errorHeaders: { 409: ['RetryAfter?'] },
  };
}

/** Codes of a call with messages. */
const ofPrompt: ErrorCode[] = [
  'unknown_model',
  'forbidden',
  'bad_messages',
  'context_length_exceeded',
];

/** Anthropic's clients read the number of a call from a header of its own. */
const ofMessages: RouteDocs['errorHeaders'] = Object.fromEntries(
  [400, 401, 402, 403, 405, 409, 413, 415, 429, 500, 502, 503].map((status) => [
    status,
    status === 409 ? ['AnthropicId', 'RetryAfter?'] : ['AnthropicId'],
  ]),
);

export const chat = chatCall('chatCompletions');
export const createResponse = chatCall('createResponse');
export const messages: RouteDocs = {
  ...chatCall('createMessage'),
  replies: { 200: { headers: ['AnthropicId', ...chat.replies![200]!.headers!] } },
  errorHeaders: ofMessages,
};
export const countTokens: RouteDocs = {
  operationId: 'countMessageTokens',
  replies: { 200: { headers: ['AnthropicId'] } },
  errors: ofPrompt,
  errorHeaders: ofMessages,
};

export const status: RouteDocs = {
  operationId: 'readStatus',
  replies: { 200: { headers: ['RetryAfter?'] } },
};
export const statusStream: RouteDocs = {
  operationId: 'streamStatus',
  replies: { 200: { headers: ['CacheControl', 'AccelBuffering'] } },
};
export const response: RouteDocs = {
  operationId: 'readResponse',
  errors: ['request_not_ready', 'expired'],
};
export const deleteOutput: RouteDocs = {
  operationId: 'deleteOutput',
  errors: ['request_not_ready'],
};
export const cancel: RouteDocs = {
  operationId: 'cancel',
  replies: { 200: {}, 202: {} },
  errors: ['not_cancellable', 'unsupported_media_type'],
};
export const cancelPut: RouteDocs = { ...cancel, operationId: 'cancelPut' };

const storedHeaders: HeaderUse[] = [
  'ETag',
  'AcceptRanges',
  'CacheControl',
  'ContentDisposition',
  'NoSniff',
  'ContentSecurityPolicy',
  'ResourcePolicy',
  'AllowOrigin',
  'ReferrerPolicy',
];

/** A download of bytes that may have these types. */
function download(operationId: string, types: string[]): RouteDocs {
  const content = bytesOf(...types);
  // A refused range has a body of its own.
  const refused = storedHeaders.filter((name) => name !== 'ETag' && name !== 'ContentDisposition');
  return {
    operationId,
    headers: ofDownload,
    replies: {
      200: { headers: storedHeaders, content },
      206: { headers: [...storedHeaders, 'ContentRange'], content },
      304: { headers: storedHeaders },
    },
    errors: ['expired'],
    errorsAt: { 416: { codes: ['bad_request'], headers: [...refused, 'ContentRange'] } },
  };
}

const mediaTypes = ['image/*', 'video/*', 'audio/*'];
const fileTypes = [...mediaTypes, 'application/pdf', 'text/plain'];

const stored = download('readOutput', mediaTypes);
export const output: RouteDocs = {
  ...stored,
  replies: { ...stored.replies, 302: { headers: ['StoreLocation'] } },
};
export const videoContent: RouteDocs = {
  ...download('readVideoContent', mediaTypes),
  errors: ['request_not_ready', 'expired'],
};
export const readFile = download('readFile', fileTypes);
export const upload: RouteDocs = {
  operationId: 'uploadFile',
  body: { content: bytesOf(...fileTypes), form: uploadForm },
  replies: { 201: { headers: ['Ignored?'] } },
  errors: ['bad_request', 'insufficient_balance', 'payload_too_large', 'unsupported_media_type'],
};

export const createReplicateFile: RouteDocs = {
  operationId: 'createReplicateFile',
  body: { form: fileForm },
  replies: { 201: { headers: ['Ignored?'] } },
  errors: upload.errors!,
};

export const callback: RouteDocs = {
  operationId: 'receiveCallback',
  body: {
    content: {
      'application/json': {
        schema: { type: 'object', description: 'Any JSON.', additionalProperties: true },
      },
    },
  },
  errors: ['unauthorized', 'payload_too_large'],
};

export const livez = supervised('livez');
export const readyz = supervised('readyz');

function supervised(operationId: string): RouteDocs {
  return {
    operationId,
    replies: { 200: { headers: ['CacheControl'] } },
    errors: ['capacity_unavailable'],
  };
}

export const metrics: RouteDocs = {
  operationId: 'metrics',
  replies: { 200: { content: { 'text/plain': { schema: { type: 'string' } } } } },
  errors: ['forbidden'],
  security: [{}, { MetricsToken: [] }],
};
