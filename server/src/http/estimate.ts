import type { FastifyReply } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { price } from '../core/price.ts';
import { quoteToJson, shownQuote } from '../core/quote-json.ts';
import { demandModel } from './auth.ts';
import { jsonMaxBytes, readObject } from './body.ts';
import type { HttpDeps, Keyed } from './deps.ts';
import { findModel } from './models.ts';

/** POST /estimate */
export async function estimate(req: Keyed, reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const body = await readObject(req, reply, jsonMaxBytes, deps);
  const model = findModel(deps, body.model_id);
  demandModel(req.caller, model.id, 'model_id');
  const { input = {} } = body;
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new ApiError('unpriceable', {
      message: 'input must be a JSON object: the full model input.',
      param: 'input',
    });
  }
  const priced = price(model, input as Record<string, unknown>, req.caller.price_ppm);
  const { price_usd_micro, ...quote } = shownQuote(quoteToJson(priced));
  return { model_id: model.id, kind: model.kind, price_usd_micro, ...quote };
}
