import { formatUsd, type Estimate, type Model } from '../index.ts';
import { about, keyed } from './account.ts';
import { exits, Stop } from './exits.ts';
import { readInput, type Fields, type InputOptions } from './jobs/input.ts';
import { findModel, priceCall } from './models.ts';
import type { Context } from './verb.ts';
import {
  columnsOf,
  jsonOf,
  oneLine,
  paint,
  print,
  printJson,
  printTable,
  say,
  wrap,
} from './terminal/terminal.ts';
import { unknownTexts } from './help/unknown-inputs.ts';

export async function price(
  context: Context,
  id: string,
  values: string[],
  options: InputOptions,
): Promise<void> {
  const client = keyed(context);
  const model = await findModel(context, id);
  const input = await readInput(model, values, options, context.quiet);
  if (model.kind === 'text') demandTokens(model, input);
  const estimate = await about({ model_id: id }, client.estimate(model.id, input));
  warnOfUnknown(estimate);
  if (context.json) return printJson(estimate);
  if (!process.stdout.isTTY) return print(formatUsd(estimate.price_usd_micro).slice(1));
  print(
    `${paint(process.stdout, 'bold', formatUsd(estimate.price_usd_micro))} for ${oneLine(model.name)}`,
  );
  if (estimate.breakdown.length > 0) {
    print('');
    printTable(
      ['FOR', 'UNITS', 'EACH', 'AMOUNT'],
      estimate.breakdown.map((line) => [
        line.label,
        String(line.quantity),
        formatUsd(line.unit_price_usd_micro),
        formatUsd(line.amount_usd_micro),
      ]),
    );
  }
  const taken = assumed(estimate, model);
  if (!taken) return;
  print('');
  for (const line of wrap(oneLine(taken), columnsOf(process.stdout)))
    print(paint(process.stdout, 'dim', line));
}

/**
 * Throws unless the token counts are given. Input schemas do not have them, since a chat call has
 * messages instead.
 */
function demandTokens(model: Model, input: Fields): void {
  const missing = ['input_tokens', 'output_tokens'].filter((name) => input[name] === undefined);
  if (missing.length === 0) return;
  throw new Stop(
    exits.usage,
    'unpriceable',
    `The price of ${model.id} depends on the number of tokens: give ${missing.join(' and ')}.`,
    `For example: ${priceCall(model)}`,
    { param: missing[0] },
  );
}

export function warnOfUnknown(estimate: Estimate): void {
  for (const text of unknownTexts(estimate)) say('yellow', text);
}

/** The values that the price assumes for missing fields. */
export function assumed(
  { assumptions, unit_price_by_resolution_usd_micro }: Estimate,
  { unit }: Pick<Model, 'unit'>,
): string {
  const parts = Object.entries(assumptions).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : jsonOf(value)}`,
  );
  if (parts.length === 0) return '';
  const others = Object.entries(unit_price_by_resolution_usd_micro ?? {}).map(
    ([resolution, micro]) => `${resolution} ${formatUsd(BigInt(micro))}`,
  );
  const choice = others.length > 0 ? ` Per ${unit}: ${others.join(', ')}.` : '';
  return oneLine(`Defaults used: ${parts.join(', ')}.${choice}`);
}
