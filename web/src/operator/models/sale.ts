import type { CatalogRowDetail } from '../../api-types.ts';
import { briefUsd, parseUsd } from '../../money.ts';

/** Prices and routes in the form in which they are set. */

type Price = CatalogRowDetail['sold']['price'];
type Route = CatalogRowDetail['sold']['upstreams'][number];

/** The rates as texts for fields, by name. */
export function priceForm(price: Price): Record<string, string> {
  const rates = typeof price === 'object' ? price : { usd: price };
  return Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, plain(rate)]));
}

/** `$0.06`, or each rate with its name. */
export function priceText(price: Price): string {
  const rates = Object.entries(priceForm(price));
  return rates
    .map(([name, rate]) => {
      const shown = briefUsd(parseUsd(rate) ?? 0n, 'up');
      return name === 'usd' ? shown : `${name} ${shown}`;
    })
    .join(', ');
}

/** `fal 70 %, replicate 30 %`. */
export function routesText(routes: readonly Route[]): string {
  return routes
    .map(({ name, share }) => (share === null || share === undefined ? name : `${name} ${share} %`))
    .join(', ');
}

/** People type a comma, too. */
export function decimal(text: string): string {
  return text.trim().replace(',', '.');
}

/** Without an exponent. */
function plain(rate: number | string): string {
  return typeof rate === 'string' ? rate : rate.toFixed(6).replace(/\.?0+$/, '');
}
