import { readCompletionsCall } from '../../core/apis/completions/read-call.ts';
import { ApiError } from '../../core/errors.ts';
import { demandModel, findModel } from '../../core/catalog/find-model.ts';
import { unknownInputs, withoutNulls } from '../../core/catalog/model-input.ts';
import { sizedInput } from '../../core/catalog/stated-size.ts';
import { sizedQuote } from '../../core/price/sized-quote.ts';
import { quoteToJson, shownQuote, withUnknown } from '../../core/price/quote-json.ts';
import { quoteChat } from '../../operations/requests/submit-chat.ts';
import { chatMaxBytes, readObject } from '../body.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { Estimate, EstimateRequest } from './model-schema.ts';
import { isObject } from '../../lib/json.ts';

const shapes = { rawBody: EstimateRequest, reply: Estimate };

/** POST /estimate */
export const estimate = keyedEndpoint(shapes, async ({ req, reply }, deps) => {
  const body = await readObject(req, reply, chatMaxBytes, deps);
  const model = findModel(deps.catalog(), body.model_id);
  demandModel(req.caller, model.id, 'model_id');
  const input = body.input ?? {};
  if (!isObject(input)) {
    throw new ApiError('unpriceable', {
      message: 'input must be a JSON object: the full model input.',
      param: 'input',
    });
  }
  const given = withoutNulls(input);
  const asked = model.kind === 'text' && Object.hasOwn(given, 'messages');
  const sized = sizedInput(given, model);
  const priced = asked
    ? (await quoteChat(readCompletionsCall({ ...input, model: model.id }), req.caller, deps)).quote
    : sizedQuote(model, sized, req.caller.price_ppm);
  const unknown = model.kind === 'text' ? [] : unknownInputs(model, sized.input);
  const { price_usd_micro, ...quote } = shownQuote(withUnknown(quoteToJson(priced), unknown));
  return { model_id: model.id, kind: model.kind, price_usd_micro, ...quote };
});
