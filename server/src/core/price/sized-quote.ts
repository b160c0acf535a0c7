import type { Model } from '../catalog/catalog.ts';
import type { SizedInput } from '../catalog/stated-size.ts';
import { price, type Quote } from './price.ts';

/**
 * The price of an input whose size is in the model's own fields. These count as assumptions, so
 * that the caller sees how the size was understood. Throws what `price` throws.
 */
export function sizedQuote(model: Model, { input, size }: SizedInput, price_ppm?: number): Quote {
  const quote = price(model, input, price_ppm);
  return { ...quote, assumptions: { ...quote.assumptions, ...size } };
}
