import type { Model } from '../core/catalog/catalog.ts';
import { isShutdownNear } from '../core/catalog/checked-on.ts';
import { isComparable, lossAt } from '../core/catalog/listed-price.ts';
import { FetchError, type Fetch } from '../lib/outbound/fetch.ts';
import { messageOf } from '../lib/unknown.ts';
import type { UpstreamAddress } from './index.ts';
import { keyNames } from './keys.ts';
import type { Upstream } from './upstream.ts';

/** Checks an upstream with calls that cost nothing. */

const probeMs = 15_000;
const probeBytes = 64 * 1024;
/** Long, because some upstreams list thousands of models, page by page. */
const checkMs = 300_000;

/** A row's use of the upstream: the upstream's own name of the model, and the route's place. */
interface Use {
  id: string;
  model: string;
  at: number;
}

export interface UpstreamReport extends UpstreamAddress {
  name: string;
  set_up: boolean;
  /** Why the upstream is not set up. */
  reason: string | null;
  /** Whether the upstream answers at all. Null: not tried. */
  answers: boolean | null;
  /**
   * Whether the upstream accepts the key, or all of several keys. Null: not tried, or no call can
   * tell.
   */
  credential_taken: boolean | null;
  /** The result for each key by name, if there are several keys. */
  keys: { key: string; taken: boolean | null }[];
  /** How many catalog rows it serves. */
  rows: number;
  /** How many models it lists; null: it has no list. */
  listed: number | null;
  /** Rows whose model the upstream does not have. */
  missing: Use[];
  problems: string[];
}

/** The upstream to check, and how to call it. */
export interface UpstreamToCheck {
  name: string;
  about: UpstreamAddress;
  /** True, or why it is not set up. */
  usable: true | string;
  /** Undefined: the upstream is not set up, or is built into Farebox. */
  upstream: Upstream | undefined;
  /** All rows of the catalog, also hidden ones. */
  rows: readonly Model[];
  fetch: Fetch;
}

/** Never throws because of what the upstream does. */
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
    keys: keyNames(upstream).map((key) => ({ key, taken: null })),
    rows: new Set(own.map(({ id }) => id)).size,
    listed: null,
    missing: [],
    problems: [],
  };
  if (usable === true && upstream && report.url !== null)
    await ask(report, upstream, own, fetch, within);
  return report;
}

/** All uses of the upstream; a row may use it twice, with another model as the fallback. */
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

/**
 * The upstream with the first key that it accepts or that cannot be tried; null if it refuses all.
 */
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
      // Ollama also accepts a model's name without its tag.
      if (listed.has(model) || listed.has(`${model}:latest`)) continue;
      if (await upstream.hasModel?.(model, signal)) continue;
      report.missing.push({ id, model, at });
    }
  } catch (error) {
    report.problems.push(`its models could not be read: ${messageOf(error)}`);
  }
}

export interface ComparedTerms {
  /** Rows whose price is below the upstream's, with an explanation. */
  losses: { id: string; message: string }[];
  /** Rows whose model is shut down or will be soon. */
  shutdowns: (Use & { day: string })[];
  /** How many prices were compared. */
  compared: number;
  /** Why the upstream's terms could not be read. */
  trouble: string | null;
}

/** Compares rows with the prices and shutdown days that the upstream lists, if it lists any. */
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
