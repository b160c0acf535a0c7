import type { Model } from '../core/catalog.ts';
import { isComparable, lossAt } from '../core/listed-price.ts';
import type { UpstreamDefinition } from '../core/upstream-definition.ts';
import { settingsOf } from '../core/upstream-definition.ts';
import type { Config } from '../config.ts';
import { FetchError } from '../lib/fetch.ts';
import { Refused } from '../operations/account.ts';
import { upstreamsOf } from '../parts.ts';
import { checkFolder, type CheckedFolder } from '../storage/catalog.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** A look at an upstream that is set up, by calls that cost nothing. */

export type Opened = ReturnType<typeof upstreamsOf>;

const probeMs = 15_000;
const probeBytes = 64 * 1024;
/** Some list thousands of models, page by page. */
const lookMs = 300_000;
const built = 'it comes with Farebox';

/** One of a row's upstreams: the model there, and its place among them. */
interface Use {
  id: string;
  model: string;
  at: number;
}

export interface Look {
  name: string;
  /** Null: it comes with Farebox. */
  adapter: string | null;
  url: string | null;
  set_up: boolean;
  /** Why it is not set up. */
  reason: string | null;
  /** Null: not asked. */
  answers: boolean | null;
  /** It has a credential to show. */
  has_credential: boolean;
  /** Null: not asked, or it has no call to try that with. */
  credential_taken: boolean | null;
  /** Models of the catalog that it serves. */
  rows: number;
  /** Models that it lists; null: it does not tell. */
  listed: number | null;
  /** Rows whose model it does not have. */
  missing: Use[];
  problems: string[];
}

/** Reads the folder; a folder that cannot be read is refused in words. */
export async function readFolder(dir: string, opened: Opened): Promise<CheckedFolder> {
  return checkFolder({ dir, ...opened }).catch((error: Error) => {
    throw new Refused(`Cannot read the folder ${dir}: ${error.message}`, { cause: error });
  });
}

/** Opens the upstreams for a piece of work, and hangs up after it. */
export async function withUpstreams<T>(
  config: Config,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const opened = upstreamsOf(config);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Each row's uses of the upstream; a row may fall back to another model of the same. */
function usesOf(name: string, rows: readonly Model[]): (Use & { row: Model })[] {
  return rows.flatMap((row) =>
    row.upstreams.flatMap(({ upstream, model }, at) =>
      upstream === name ? [{ row, id: row.id, model, at }] : [],
    ),
  );
}

/** Never throws on what the upstream does. */
export async function lookAt(
  config: Config,
  name: string,
  { rows, upstreams }: CheckedFolder,
  opened: Opened,
): Promise<Look> {
  const definition = upstreams.find((each) => each.definition.name === name)?.definition ?? null;
  const own = usesOf(name, rows);
  const usable = opened.usableUpstreams(name);
  const settings = definition === null ? null : settingsOf(definition, config.variable);
  const look: Look = {
    name,
    adapter: definition?.adapter ?? null,
    url: settings === null || typeof settings === 'string' ? urlOf(definition) : settings.url,
    set_up: usable === true,
    reason: usable === true ? null : usable,
    has_credential: settings !== null && typeof settings !== 'string' && settings.key !== null,
    answers: null,
    credential_taken: null,
    rows: new Set(own.map(({ id }) => id)).size,
    listed: null,
    missing: [],
    problems: [],
  };
  const upstream = opened.live.get(name);
  if (usable === true && upstream && look.url !== null)
    await ask(look, upstream, own, opened.tools.fetch);
  return look;
}

function urlOf(definition: UpstreamDefinition | null): string | null {
  return definition?.url ?? null;
}

async function ask(
  look: Look,
  upstream: Upstream,
  uses: Use[],
  fetch: Opened['tools']['fetch'],
): Promise<void> {
  const signal = AbortSignal.timeout(lookMs);
  try {
    const call = { url: look.url!, timeoutMs: probeMs, maxBytes: probeBytes, signal };
    await fetch.request(call);
    look.answers = true;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    look.answers = false;
    look.problems.push(`its address does not answer: ${error.message}`);
    return;
  }
  const wrong = await upstream.check?.(signal).catch((error: Error) => error.message);
  if (wrong !== undefined) look.credential_taken = wrong === null;
  if (wrong) look.problems.push(wrong);
  else await compareModels(look, upstream, uses, signal);
}

async function compareModels(
  look: Look,
  upstream: Upstream,
  uses: Use[],
  signal: AbortSignal,
): Promise<void> {
  if (!upstream.models) return;
  try {
    const listed = new Set(await upstream.models(signal));
    look.listed = listed.size;
    for (const { id, model, at } of uses) {
      // Ollama's models are called without their tag as well.
      if (listed.has(model) || listed.has(`${model}:latest`)) continue;
      if (await upstream.hasModel?.(model, signal)) continue;
      look.missing.push({ id, model, at });
    }
  } catch (error) {
    look.problems.push(`its models could not be read: ${(error as Error).message}`);
  }
}

export interface PriceLook {
  /** Rows whose price is below their upstream's, by id, and in which way. */
  losses: { id: string; message: string }[];
  compared: number;
  /** Why its prices could not be read. */
  trouble: string | null;
}

/** Compares the prices of rows with what the upstream asks; null where it tells none. */
export async function comparePrices(
  name: string,
  rows: readonly Model[],
  upstream: Upstream,
): Promise<PriceLook | null> {
  if (!upstream.prices) return null;
  const found: PriceLook = { losses: [], compared: 0, trouble: null };
  const own = usesOf(name, rows);
  try {
    const models = [...new Set(own.map(({ model }) => model))];
    const prices = await upstream.prices(models, AbortSignal.timeout(lookMs));
    for (const { row, model } of own) {
      const listed = prices.get(model);
      if (listed === undefined || !isComparable(row.price, listed)) continue;
      found.compared++;
      const loss = lossAt(row.price, listed);
      if (loss !== null) found.losses.push({ id: row.id, message: `${row.id}: ${loss}.` });
    }
  } catch (error) {
    found.trouble = `its prices could not be read: ${(error as Error).message}`;
  }
  return found;
}

/** A look in words. */
export function told(look: Look, fileOf: (id: string) => string): string {
  const { name, adapter, url, set_up, reason, answers, credential_taken, rows, listed } = look;
  const kind = adapter === null ? built : `${adapter}, ${url ?? 'no address yet'}`;
  const lines = [`${name}: ${kind}`, `  set up      ${set_up ? 'yes' : `no: ${reason}`}`];
  if (answers !== null) lines.push(`  address     ${answers ? 'answers' : 'does not answer'}`);
  if (credential_taken !== null) lines.push(`  credential  ${credentialWords(look)}`);
  else if (answers) lines.push('  credential  not tried: it has no call that costs nothing');
  const has = listed === null ? '' : `; it lists ${listed} ${listed === 1 ? 'model' : 'models'}`;
  lines.push(`  catalog     ${rows} ${rows === 1 ? 'row uses' : 'rows use'} it${has}`);
  const lacks = look.missing.map(
    ({ id, model }) => `it has no model ${model} (${id} in ${fileOf(id)})`,
  );
  return [...lines, ...[...look.problems, ...lacks].map((each) => `  wrong: ${each}`)].join('\n');
}

/** Its check may fail for another reason, which stands among the problems. */
function credentialWords({ credential_taken, has_credential }: Look): string {
  if (!credential_taken) return 'not confirmed';
  return has_credential ? 'taken' : 'none, and none is needed';
}

export function isWell({ set_up, problems, missing }: Look): boolean {
  return set_up && problems.length === 0 && missing.length === 0;
}
