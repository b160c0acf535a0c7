import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { formatUsd, parseUsd, type Estimate, type Model } from '../../index.ts';
import { about, keyed } from '../account.ts';
import { ask } from '../terminal/ask.ts';
import { exits, Stop, usage } from '../exits.ts';
import { readInput, schemaOf, type Fields, type InputOptions } from './input.ts';
import { checkJobs, keepJob, type KeptJob } from './jobs.ts';
import { readPairs } from '../metadata.ts';
import { findModel } from '../models.ts';
import { assumed, warnOfUnknown } from '../price.ts';
import type { Context } from '../verb.ts';
import { finish, goesOn } from './resume.ts';
import { checkOut } from './target.ts';
import { readSettings, usualAskAboveUsd } from '../settings.ts';
import { submitKept } from './submit.ts';
import { canAsk, oneLine, print, printJson, remark } from '../terminal/terminal.ts';
import { uploadFiles } from './upload.ts';

export interface RunOptions extends InputOptions {
  out?: string;
  force?: boolean;
  yes?: boolean;
  maxUsd?: string;
  webhook?: string;
  metadata?: string[];
  wait: boolean;
  save: boolean;
  preview: boolean;
}

export async function runModel(
  context: Context,
  id: string,
  values: string[],
  options: RunOptions,
): Promise<void> {
  const client = keyed(context);
  const model = await findModel(context, id);
  if (model.kind === 'text') throw usage(`${id} is a text model.`, `Use \`fare chat ${id}\`.`);
  const { out = null, force = false } = options;
  if (out === '-' && context.json) throw usage('--out - and --json cannot both use stdout.');
  checkJobs();
  const metadata = readPairs(options.metadata);
  const input = await readInput(model, values, options, context.quiet);
  const estimate = await about({ model_id: id }, client.estimate(model.id, input));
  if (options.save) checkOut(out, { force, ...expected(model, input, estimate) });
  warnOfUnknown(estimate);
  await agree(estimate, model, options, context);
  const job: KeptJob = {
    idempotency_key: randomUUID(),
    base_url: client.baseUrl,
    model_id: model.id,
    created_at: new Date().toISOString(),
    request_id: null,
    input: await uploadFiles(client, input, context.quiet),
    ...(options.webhook !== undefined && { webhook_url: options.webhook }),
    ...(metadata && { metadata }),
    ceiling_usd_micro: String(estimate.price_usd_micro),
    out: out === null || out === '-' ? out : absolute(out),
    folder: process.cwd(),
    save: options.save,
    ended: false,
  };
  keepJob(job);
  try {
    const submitted = await submitKept(client, job, { again: false });
    if (!options.wait) {
      if (context.json) return printJson(submitted);
      remark(context.quiet, `Queued. Continue it with: fare resume ${submitted.request_id}`);
      return print(oneLine(submitted.request_id));
    }
    remark(context.quiet, `Request ${submitted.request_id}`);
    await finish(context, client, job, { force, preview: options.preview, cancels: true });
  } catch (error) {
    throw job.request_id === null ? error : await goesOn(error, job.request_id);
  }
}

/** The outputs, as far as the input and its price tell. */
function expected(model: Model, input: Fields, { unit, quantity }: Estimate) {
  const { properties = {} } = schemaOf(model);
  const counts = ['images', 'layers', 'outputs', 'samples', 'videos'].map((what) =>
    Number(input[`num_${what}`] ?? properties[`num_${what}`]?.default),
  );
  if (unit === 'image') counts.push(quantity);
  const count = Math.max(1, ...counts.filter(Number.isSafeInteger));
  return { count, isText: model.task === 'video-analyze' };
}

/** Keeps a trailing separator, which marks a folder. */
function absolute(out: string): string {
  return path.resolve(out) + (/[/\\]$/.test(out) ? path.sep : '');
}

/** Prints the price, and asks the user or checks the limits before it is spent. */
async function agree(
  estimate: Estimate,
  model: Model,
  options: RunOptions,
  { quiet }: Context,
): Promise<void> {
  const kept = readSettings();
  const price = estimate.price_usd_micro;
  const shown = formatUsd(price);
  for (const [name, text] of [
    ['--max-usd', options.maxUsd],
    ['the setting max-usd', kept.max_usd],
  ] as const) {
    if (text === undefined || price <= parseUsd(text)) continue;
    throw new Stop(
      exits.money,
      'price_above_limit',
      `It costs ${shown}, more than ${name} allows (${formatUsd(parseUsd(text))}). Nothing was submitted.`,
      assumed(estimate, model) || null,
      { price_usd_micro: price },
    );
  }
  remark(quiet, `${shown} for ${model.id}`);
  if (options.yes || options.maxUsd !== undefined) return;
  const askAbove = kept.ask_above_usd ?? usualAskAboveUsd;
  if (price <= parseUsd(askAbove)) return;
  const taken = assumed(estimate, model);
  if (taken) remark(quiet, taken);
  if (!canAsk()) {
    throw new Stop(
      exits.money,
      'not_agreed',
      `It costs ${shown}, and prices above $${askAbove} need your confirmation. Nothing was submitted.`,
      `Pass --max-usd ${shown.slice(1)} or --yes.`,
      { price_usd_micro: price },
    );
  }
  if (!(await ask(`Spend ${shown}?`)))
    throw new Stop(exits.money, 'not_agreed', 'Nothing was submitted.');
}
