import type { Catalog, Model } from '../../core/catalog/catalog.ts';
import { demandModel, unknownModel } from '../../core/catalog/find-model.ts';
import type { MediaInputs } from '../../core/catalog/media-input.ts';
import type { ReadCall } from '../../core/apis/api.ts';
import { chatMedia, demandModalities, listOf } from '../../core/chat/chat-media.ts';
import { badMessages } from '../../core/bad-request.ts';
import { givenFields } from '../../core/check.ts';
import { tooLong } from '../../core/chat/refusal.ts';
import { boundPromptTokens, countPromptTokens, type StoredSizes } from '../../core/chat/tokens.ts';
import { ApiError } from '../../core/errors.ts';
import { price } from '../../core/price/price.ts';
import { quoteToJson } from '../../core/price/quote-json.ts';
import { fingerprint } from '../../core/request/fingerprint.ts';
import { eitherMetadata, type Metadata } from '../../core/request/metadata.ts';
import { parseFileId } from '../../core/request/file-id.ts';
import type { Spender } from '../../db/accounts/callers.ts';
import { newId } from '../../lib/id.ts';
import type { Json } from '../../lib/json.ts';
import { StorageAway } from '../../storage/storage.ts';
import type { InputFile } from '../../upstreams/upstream.ts';
import type { Operations } from './batched.ts';
import type { ChatRun } from './call-routes.ts';
import { requireMedia, type MediaDeps } from './check-media.ts';
import { chooseRoutes, type RouteDeps } from '../upstreams/choose-routes.ts';
import type { CallTrace } from './submit.ts';
import { gatherFiles, type StoredDeps } from './stored-inputs.ts';

const maxTokensDefault = 4_096;
/** Maximum total bytes of the stored files and outputs in the messages of one call. */
const chatFilesMaxBytes = 20 * 1024 * 1024;

export type ChatSubmitDeps = MediaDeps &
  RouteDeps &
  StoredDeps & {
    operations: Pick<Operations, 'submit'>;
    catalog: () => Catalog;
    storage: { isAway: () => boolean };
  };

/** A chat call as received, and as it was read. */
export interface ReceivedChat {
  /** Below /v1. A repeat is recognised by the path and the body as received. */
  path: string;
  body: Json;
  read: ReadCall;
  /** From the call's header; null: the call has no such header. */
  metadata: Metadata | null;
  making: CallTrace;
}

/** A chat call that has been checked and priced. */
export interface PreparedChat extends ReservedPrice, Pick<ChatRun, 'model' | 'files'> {
  caller: Spender;
  call: ReceivedChat;
  /** Total size of the files; a file that is named twice counts twice. */
  file_bytes: number;
}

/** Checks and prices a chat call and gathers its files. Throws the `ApiError` that refuses it. */
export async function prepareChat(
  call: ReceivedChat,
  caller: Spender,
  deps: ChatSubmitDeps,
): Promise<PreparedChat> {
  const { read } = call;
  const model = demandTextModel(read, caller, deps.catalog());
  // If the body and the header both have metadata, this throws before a file is read.
  eitherMetadata(read.metadata, call.metadata);
  const { files, file_bytes } = await chatFiles(read, caller.account_id, deps);
  return { caller, call, model, files, file_bytes, ...reservedPriceOf(read, files, model, caller) };
}

/** The price that a chat call would reserve. */
export async function quoteChat(
  read: ReadCall,
  caller: Pick<Spender, 'account_id' | 'models' | 'price_ppm'>,
  deps: StoredDeps & Pick<ChatSubmitDeps, 'catalog'>,
): Promise<ReservedPrice & { model: Model }> {
  const model = demandTextModel(read, caller, deps.catalog());
  // Files that no longer exist are ignored here; the call itself would be refused.
  const files = (await gatherFiles(chatMedia(read.conversation), caller.account_id, deps)) ?? {};
  return { model, ...reservedPriceOf(read, files, model, caller) };
}

/** An estimate of the prompt's tokens, at most the model's context window. */
export async function countPrompt(
  read: ReadCall,
  caller: Pick<Spender, 'account_id' | 'models'>,
  deps: MediaDeps & StoredDeps & Pick<ChatSubmitDeps, 'catalog' | 'storage'>,
): Promise<number> {
  const model = demandTextModel(read, caller, deps.catalog());
  const { files } = await chatFiles(read, caller.account_id, deps);
  return countPromptTokens({ ...read.conversation, files }, model.context_tokens);
}

function demandTextModel(
  { model: id, conversation }: ReadCall,
  caller: Pick<Spender, 'models'>,
  catalog: Catalog,
): Model {
  const model = catalog.models.get(id);
  if (!model) throw new ApiError('unknown_model', { ...unknownModel(id, catalog), param: 'model' });
  if (model.kind !== 'text')
    throw new ApiError('unknown_model', {
      message: `${model.id} makes ${model.kind}s and is not a chat model. Send it to POST /v1/queue/${model.id}.`,
      param: 'model',
    });
  demandModel(caller, model.id, 'model');
  demandModalities(conversation, model, catalog.models.values());
  return model;
}

async function chatFiles(
  { conversation }: ReadCall,
  account_id: string,
  deps: MediaDeps & StoredDeps & Pick<ChatSubmitDeps, 'storage'>,
): Promise<{ files: Record<string, InputFile>; file_bytes: number }> {
  const media = chatMedia(conversation);
  if (media.files.length + media.urls.length === 0) return { files: {}, file_bytes: 0 };
  const list = listOf(conversation);
  await requireMedia(media, account_id, deps, badMessages);
  const files = await gatherFiles(media, account_id, deps);
  if (files === null)
    throw badMessages(list, 'refer to a file that has been deleted', { reason: 'file_gone' });
  if (Object.keys(files).length > 0 && deps.storage.isAway()) throw new StorageAway();
  const file_bytes = Object.entries(files)
    .map(([value, { size }]) => size * mentionsOf(value, media))
    .reduce((sum, each) => sum + each, 0);
  if (file_bytes <= chatFilesMaxBytes) return { files, file_bytes };
  const limit = chatFilesMaxBytes / 1024 / 1024;
  const rule = `have more than ${limit} MiB of files; send smaller images`;
  throw badMessages(list, rule, { reason: 'files_too_large', limit });
}

/** The number of times that a file or address is named. Its data is sent each time. */
function mentionsOf(value: string, { files, urls }: MediaInputs): number {
  const id = parseFileId(value);
  const file = files.find((each) => each.id === id);
  return file?.mentions ?? urls.filter(({ url }) => url === value).length;
}

/** The highest price of a call, and the most tokens that its reply may have at that price. */
type ReservedPrice = Pick<ChatRun, 'max_tokens' | 'quote'>;

/** Throws `bad_messages` if the prompt may be longer than the row allows. */
function reservedPriceOf(
  { max_tokens: asked, conversation }: ReadCall,
  files: StoredSizes,
  model: Model,
  { price_ppm }: Pick<Spender, 'price_ppm'>,
): ReservedPrice {
  const max_tokens = Math.min(asked ?? maxTokensDefault, model.max_output_tokens);
  const { context_tokens, refuse_longer_prompts } = model;
  const prompt = { ...conversation, files };
  const counted = boundPromptTokens(prompt, model, context_tokens + 1);
  if (refuse_longer_prompts && counted > context_tokens) {
    const given = boundPromptTokens(prompt, model, Number.MAX_SAFE_INTEGER);
    const isKnown = given < Number.MAX_SAFE_INTEGER;
    const window = { limit: context_tokens, given: isKnown ? given : null, output: null };
    throw tooLong(window, listOf(conversation));
  }
  const input_tokens = Math.min(counted, context_tokens);
  const quote = price(model, { input_tokens, output_tokens: max_tokens }, price_ppm);
  return { max_tokens, quote };
}

/** A reserved call, or the id of the first call with the same Idempotency-Key. */
export type ReservedChat =
  | { replayed: true; request_id: string }
  | { replayed: false; reserved: Omit<ChatRun, 'isAwaited' | 'hasLeft'> };

/** Reserves the highest price of the call. Throws the `ApiError` that refuses it. */
export async function reserveChat(
  { caller, call, file_bytes: _, ...prepared }: PreparedChat,
  idempotency_key: string | null,
  deps: ChatSubmitDeps,
): Promise<ReservedChat> {
  const { key_id, account_id, person_id = null, monthly_limit_usd_micro } = caller;
  const { path, body, read, making } = call;
  const { model, max_tokens, quote } = prepared;
  const metadata = eitherMetadata(read.metadata, call.metadata);
  const { routes, refusal } = await chooseRoutes(model, account_id, deps);
  const request_id = newId();
  making.willCreate(request_id, model.id);
  const { turns } = read.conversation;
  // A field that is null counts as omitted. A null further inside stays, because it can have a
  // meaning in a message or in the schema of a tool.
  const compared = { method: 'POST', path, body: givenFields(body), webhook_url: null };
  const submitted = await deps.operations.submit({
    row: {
      id: request_id,
      account_id,
      key_id,
      person_id,
      model_id: model.id,
      kind: 'text',
      upstream: routes[0]!.upstream,
      upstream_model: null,
      quoted_usd_micro: quote.price_usd_micro,
      idempotency_key,
      fingerprint: idempotency_key === null ? null : fingerprint(compared),
      // Messages are not stored; the request's view shows only how many there were.
      input: JSON.stringify({ messages: turns.length, max_tokens, stream: read.stream }),
      prompt: null,
      quote: JSON.stringify(quoteToJson(quote)),
      queue_position: 0,
      webhook_url: null,
      metadata: metadata && JSON.stringify(metadata),
      caller_id: making.caller_id,
      traceparent: null,
      door: null,
      call_seconds: model.job_age_seconds,
    },
    monthly_limit_usd_micro,
    open_jobs: null,
    refusal,
  });
  making.created(submitted);
  if (submitted.replayed) return { replayed: true, request_id: submitted.request_id };
  const keep = idempotency_key !== null;
  const created = Math.floor(Date.now() / 1000);
  const own = { request_id, account_id, key_id, call: read, body, routes, keep, created };
  return { replayed: false, reserved: { ...prepared, ...own } };
}
