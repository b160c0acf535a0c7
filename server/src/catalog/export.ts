import { isMap, isSeq, parseDocument, Scalar, YAMLMap } from 'yaml';
import type { Override } from '../core/catalog/override.ts';
import type { SetPrice } from '../core/catalog/set-price.ts';
import type { SetRoute } from '../core/catalog/set-routes.ts';

/** Writes what operators have set into the text of a catalog file. */

const tokens = ['input', 'output', 'cached_input', 'cache_write'];
/** The file's weights are whole numbers, and shares have one decimal. */
const weightOfPercent = 10;

/**
 * The file's text with the prices and routes of these rows, by model id. Comments stay. A stop is
 * not written, because files have none.
 */
export function exportedText(text: string, overrides: ReadonlyMap<string, Override>): string {
  const doc = parseDocument(text, { version: '1.2', schema: 'core' });
  const models = doc.get('models');
  if (!isSeq(models)) return text;
  const definition = doc.get('upstream');
  const usual = isMap(definition) ? definition.get('name') : definition;
  for (const row of models.items) {
    if (!isMap(row)) continue;
    const own = overrides.get(String(row.get('id')));
    if (own?.price) setPrice(row, own.price);
    if (own?.upstreams) setRoutes(row, own.upstreams, String(usual));
  }
  return doc.toString({ lineWidth: 0 });
}

function setPrice(row: YAMLMap, price: SetPrice): void {
  const node = row.get('price');
  if (!isMap(node)) return;
  for (const name of ['usd', 'usd_by_resolution', ...tokens.map((each) => `${each}_usd`)])
    node.delete(name);
  const { usd, ...rates } = price;
  if (usd !== undefined) node.set('usd', quoted(usd));
  const by = new YAMLMap();
  for (const [name, rate] of Object.entries(rates)) {
    if (tokens.includes(name)) node.set(`${name}_usd`, quoted(rate));
    else by.set(name, quoted(rate));
  }
  by.flow = true;
  if (by.items.length > 0) node.set('usd_by_resolution', by);
}

/** Amounts are texts in the files, so that no reader rounds them. */
function quoted(amount: string): Scalar {
  const scalar = new Scalar(amount);
  scalar.type = 'QUOTE_DOUBLE';
  return scalar;
}

function setRoutes(row: YAMLMap, routes: readonly SetRoute[], usual: string): void {
  const list = row.get('upstreams');
  if (!isSeq(list)) return;
  const items = list.items.filter(isMap);
  list.items = routes.flatMap(({ name, model, share }) =>
    items
      .filter((item) => {
        const its = String(item.get('model') ?? row.get('id'));
        return String(item.get('upstream') ?? usual) === name && (model ?? its) === its;
      })
      .map((item, at) => {
        if (share === null) item.delete('weight');
        else item.set('weight', at === 0 ? Math.round(share * weightOfPercent) : 0);
        return item;
      }),
  );
}
