import { readCompletionsCall } from '../../core/apis/completions/read-call.ts';
import { ApiError } from '../../core/errors.ts';
import { demandModel, findModel } from '../../core/catalog/find-model.ts';
import { unknownInputs, withoutNulls } from '../../core/catalog/model-input.ts';
import { sizedInput } from '../../core/catalog/stated-size.ts';
import { sizedQuote } from '../../core/price/sized-quote.ts';
import { quoteToJson, shownQuote, withUnknown } from '../../core/price/quote-json.ts';
import { quoteChat } from '../../operations/requests/submit-chat.ts';
import type { Spender } from '../../db/accounts/callers.ts';
import { chatMaxBytes, readObject } from '../body.ts';
import { recordModelForLog } from '../call.ts';
import type { FileDeps } from '../deps.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { Estimate, EstimateRequest } from './model-schema.ts';
import { isObject, type Json } from '../../lib/json.ts';
import { isGiven } from '../../core/check.ts';
import type { Model } from '../../core/catalog/catalog.ts';

const shapes = { rawBody: EstimateRequest, reply: Estimate };

/** POST /estimate */
export const estimate = keyedEndpoint(shapes, async ({ req, reply }, deps) => {
  const body = await readObject(req, reply, chatMaxBytes, deps);
  const model = findModel(deps.catalog(), body.model_id);
  recordModelForLog(req, model.id, deps);
  demandModel(req.caller, model.id, 'model_id');
  const input = body.input ?? {};
  if (!isObject(input)) {
    throw new ApiError('unpriceable', {
      message: 'input must be a JSON object: the full model input.',
      param: 'input',
    });
  }
  const isChat = model.kind === 'text' && isGiven(input.messages);
  const priced = isChat
    ? await quoteConversation({ ...input, model: model.id }, req.caller, deps)
    : quoteJob(input, model, req.caller.price_ppm);
  const { price_usd_micro, ...quote } = shownQuote(priced);
  return { model_id: model.id, kind: model.kind, price_usd_micro, ...quote };
});

async function quoteConversation(body: Json, caller: Spender, deps: FileDeps) {
  return quoteToJson((await quoteChat(readCompletionsCall(body), caller, deps)).quote);
}

function quoteJob(input: Json, model: Model, price_ppm: number | undefined) {
  const sized = sizedInput(withoutNulls(input), model);
  const unknown = model.kind === 'text' ? [] : unknownInputs(model, sized.input);
  return withUnknown(quoteToJson(sizedQuote(model, sized, price_ppm)), unknown);
}
