import type { Model } from '../core/catalog/catalog.ts';
import { isShutdownNear } from '../core/catalog/checked-on.ts';
import { isComparable, lossAt } from '../core/catalog/listed-price.ts';
import { FetchError, type Fetch } from '../lib/outbound/fetch.ts';
import { messageOf } from '../lib/unknown.ts';
import type { UpstreamAddress } from './index.ts';
import { keysOf } from './keys.ts';
import type { Upstream } from './upstream.ts';

/** Checks an upstream that is set up, by calls that cost nothing. */

const probeMs = 15_000;
const probeBytes = 64 * 1024;
/** Some list thousands of models, page by page. */
const checkMs = 300_000;

/** One of a row's upstreams: the model there, and its position among them. */
interface Use {
  id: string;
  model: string;
  at: number;
}

export interface UpstreamReport extends UpstreamAddress {
  name: string;
  set_up: boolean;
  /** Why it is not set up. */
  reason: string | null;
  /** Null: not asked. */
  answers: boolean | null;
  /** Null: not asked, or it has no call to try that with. With several keys: all are taken. */
  credential_taken: boolean | null;
  /** Each of several keys, by its name. */
  keys: { key: string; taken: boolean | null }[];
  /** Models of the catalog that it serves. */
  rows: number;
  /** Models that it lists; null: it does not tell. */
  listed: number | null;
  /** Rows whose model it does not have. */
  missing: Use[];
  problems: string[];
}

/** The upstream to check, and how it is called. */
export interface UpstreamToCheck {
  name: string;
  about: UpstreamAddress;
  /** True, or why it is not set up. */
  usable: true | string;
  /** Undefined: it is not set up, or comes with Farebox. */
  upstream: Upstream | undefined;
  /** Rows of the catalog, live or hidden. */
  rows: readonly Model[];
  fetch: Fetch;
}

/** Never throws on what the upstream does. */
export async function checkUpstream(
  { name, about, usable, upstream, rows, fetch }: UpstreamToCheck,
  within: AbortSignal = AbortSignal.timeout(checkMs),
): Promise<UpstreamReport> {
  const own = usesOf(name, rows);
  const report: UpstreamReport = {
    name,
    ...about,
    set_up: usable === true,
    reason: usable === true ? null : usable,
    answers: null,
    credential_taken: null,
    keys: keysOf(upstream).map((key) => ({ key, taken: null })),
    rows: new Set(own.map(({ id }) => id)).size,
    listed: null,
    missing: [],
    problems: [],
  };
  if (usable === true && upstream && report.url !== null)
    await ask(report, upstream, own, fetch, within);
  return report;
}

/** Each row's uses of the upstream; a row may fall back to another model of the same. */
function usesOf(name: string, rows: readonly Model[]): (Use & { row: Model })[] {
  return rows.flatMap((row) =>
    row.upstreams.flatMap(({ upstream, model }, at) =>
      upstream === name ? [{ row, id: row.id, model, at }] : [],
    ),
  );
}

async function ask(
  report: UpstreamReport,
  upstream: Upstream,
  uses: Use[],
  fetch: Fetch,
  signal: AbortSignal,
): Promise<void> {
  try {
    const call = { url: report.url!, timeoutMs: probeMs, maxBytes: probeBytes, signal };
    await fetch.request(call);
    report.answers = true;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    report.answers = false;
    report.problems.push(`its address does not answer: ${error.message}`);
    return;
  }
  const called = await tryKeys(report, upstream, signal);
  if (called !== null) await compareModels(report, called, uses, signal);
}

/** The upstream with a key that it takes, or that cannot be tried; null: it takes none. */
async function tryKeys(
  report: UpstreamReport,
  upstream: Upstream,
  signal: AbortSignal,
): Promise<Upstream | null> {
  const instances = report.keys.length > 0 ? [...upstream.keys!.values()] : [upstream];
  const wrongs = await Promise.all(
    instances.map((each) => each.check?.(signal).catch((error: Error) => error.message)),
  );
  wrongs.forEach((wrong, i) => {
    if (wrong === undefined) return;
    const own = report.keys[i];
    if (own) own.taken = wrong === null;
    if (wrong) report.problems.push(own ? `key ${own.key}: ${wrong}` : wrong);
    report.credential_taken = (report.credential_taken ?? true) && wrong === null;
  });
  return instances.find((_each, i) => !wrongs[i]) ?? null;
}

async function compareModels(
  report: UpstreamReport,
  upstream: Upstream,
  uses: Use[],
  signal: AbortSignal,
): Promise<void> {
  if (!upstream.models) return;
  try {
    const listed = new Set(await upstream.models(signal));
    report.listed = listed.size;
    for (const { id, model, at } of uses) {
      // Ollama's models are called without their tag as well.
      if (listed.has(model) || listed.has(`${model}:latest`)) continue;
      if (await upstream.hasModel?.(model, signal)) continue;
      report.missing.push({ id, model, at });
    }
  } catch (error) {
    report.problems.push(`its models could not be read: ${messageOf(error)}`);
  }
}

export interface ComparedTerms {
  /** Rows whose price is below their upstream's, and in which way. */
  losses: { id: string; message: string }[];
  /** Rows whose model is shut down, or is about to be. */
  shutdowns: (Use & { day: string })[];
  /** How many prices were compared. */
  compared: number;
  /** Why the upstream's terms could not be read. */
  trouble: string | null;
}

/** Compares rows with the prices and the days of shutdown that the upstream lists, if it does. */
export async function compareTerms(
  name: string,
  rows: readonly Model[],
  upstream: Upstream,
  today: string,
): Promise<ComparedTerms> {
  const found: ComparedTerms = { losses: [], shutdowns: [], compared: 0, trouble: null };
  const uses = usesOf(name, rows);
  try {
    const models = [...new Set(uses.map(({ model }) => model))];
    const terms = await upstream.terms?.(models, AbortSignal.timeout(checkMs));
    for (const { row, id, model, at } of uses) {
      const { price, shutdown } = terms?.get(model) ?? {};
      if (shutdown && isShutdownNear(shutdown, today))
        found.shutdowns.push({ id, model, at, day: shutdown });
      if (!price || !isComparable(row.price, price)) continue;
      found.compared++;
      const loss = lossAt(row.price, price);
      if (loss !== null) found.losses.push({ id, message: `${id}: ${loss}.` });
    }
  } catch (error) {
    const message = messageOf(error);
    found.trouble = `its prices and shutdown dates could not be read: ${message}`;
  }
  return found;
}

export function isHealthy({ set_up, problems, missing }: UpstreamReport): boolean {
  return set_up && problems.length === 0 && missing.length === 0;
}
