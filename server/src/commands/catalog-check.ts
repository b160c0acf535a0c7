import { catalogDir } from '../config.ts';
import type { FileProblem } from '../core/catalog/catalog-file.ts';
import { dayOf, oldPricesIn } from '../core/catalog/checked-on.ts';
import type { CheckedFolder } from '../catalog/check-folder.ts';
import { compareTerms } from '../upstreams/check-upstream.ts';
import {
  checkFromFolder,
  readFolder,
  withUpstreams,
  type OpenedUpstreams,
} from './offline-check.ts';
import { countText, type Context, type CommandOutput } from './output.ts';

/** Maximum number of ids in a line about hidden rows. */
const idsNamed = 3;

/** Results that only a call to the upstreams gives. */
interface LiveResults {
  asked: string[];
  problems: FileProblem[];
  warnings: FileProblem[];
  prices_compared: number;
}

export async function check(
  given: { folder?: string; live?: boolean },
  context: Context,
): Promise<CommandOutput> {
  const dir = given.folder ?? catalogDir(context.config);
  const today = dayOf(new Date());
  const { folder, live } = await withUpstreams(context.config, async (opened) => {
    const folder = await readFolder(dir, opened);
    return { folder, live: given.live ? await askAll(folder, opened, today) : null };
  });
  const { files, rows, hidden } = folder;
  const problems = [...folder.problems, ...(live?.problems ?? [])];
  const ok = problems.length === 0;
  const warnings = [...folder.warnings, ...oldPrices(folder, today), ...(live?.warnings ?? [])];
  const warned = warnings.length === 0 ? '' : `, ${countText(warnings.length, 'warning')}`;
  const summary = `${countText(files.length, 'file')}, ${countText(rows.length, 'model')}, ${hidden.length} of them hidden, ${countText(problems.length, 'problem')}${warned}.`;
  const lines = [
    ...problems.map(line),
    ...warnings.map((warning) => `warning: ${line(warning)}`),
    ...hiddenWords(hidden),
    summary,
    ...(live === null ? [] : [askedWords(live)]),
  ];
  const shown = { ok, files, models: rows.length, problems, warnings, hidden };
  const more = live && { asked: live.asked, prices_compared: live.prices_compared };
  return { json: { ...shown, ...more }, text: lines.join('\n'), exit: ok ? 0 : 1 };
}

/** One warning per file, so that warnings about prices do not hide others. */
function oldPrices({ files, rows, owners }: CheckedFolder, today: string): FileProblem[] {
  return files.flatMap((file) => {
    const own = rows.filter(({ id }) => owners.get(id) === file);
    const words = oldPricesIn(own, today);
    return words === null ? [] : [{ file, path: '/models', message: `${words}.` }];
  });
}

/** One line per reason, so that the many rows of an upstream do not hide other lines. */
function hiddenWords(hidden: CheckedFolder['hidden']): string[] {
  return [...Map.groupBy(hidden, ({ reason }) => reason)].map(([reason, rows]) => {
    const named = rows.slice(0, idsNamed).map(({ id }) => id);
    const others = rows.length > idsNamed ? ', …' : '';
    return `hidden: ${countText(rows.length, 'row')} (${named.join(', ')}${others}): ${reason}`;
  });
}

function line({ file, path, message, ...where }: FileProblem): string {
  const at = where.line ? `${file}:${where.line}` : file;
  return `${at} ${path}: ${message}`;
}

function askedWords({ asked, prices_compared }: LiveResults): string {
  if (asked.length === 0)
    return 'None of the upstreams that the files define is set up, so none was asked.';
  return `Asked ${asked.join(', ')}; ${countText(prices_compared, 'price')} compared.`;
}

/** Checks each upstream that a catalog file defines and that is set up. */
async function askAll(
  folder: CheckedFolder,
  opened: OpenedUpstreams,
  today: string,
): Promise<LiveResults> {
  const names = folder.upstreams
    .map(({ definition }) => definition.name)
    .filter((name) => opened.live.has(name));
  const found = await Promise.all(names.map((name) => askOne(name, folder, opened, today)));
  return {
    asked: names,
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
    prices_compared: found.reduce((sum, { compared }) => sum + compared, 0),
  };
}

async function askOne(name: string, folder: CheckedFolder, opened: OpenedUpstreams, today: string) {
  const look = await checkFromFolder(name, folder, opened);
  const defined = folder.upstreams.find(({ definition }) => definition.name === name)!;
  const ofUpstream = (words: string) => defined.problemOf(`the upstream ${name}: ${words}.`);
  const problems = look.problems.map(ofUpstream);
  for (const { id, model, at } of look.missing) {
    const message = `${id}: the upstream ${name} has no model ${model}.`;
    problems.push(folder.problemOf(id, placeOf(id, at, folder), message));
  }
  if (look.problems.length > 0) return { problems, warnings: [], compared: 0 };
  const upstream = opened.live.get(name)!;
  const terms = await compareTerms(name, folder.rows, upstream, today);
  const warnings = terms.losses.map(({ id, message }) => folder.problemOf(id, '/price', message));
  for (const { id, model, at, day } of terms.shutdowns) {
    const when = day < today ? `shut ${model} down` : `shuts ${model} down`;
    const message = `${id}: the upstream ${name} ${when} on ${day}.`;
    warnings.push(folder.problemOf(id, placeOf(id, at, folder), message));
  }
  if (terms.trouble) warnings.push(ofUpstream(terms.trouble));
  return { problems, warnings, compared: terms.compared };
}

/** The path to the upstream's model name, in the row's list of upstreams or in the row itself. */
function placeOf(id: string, at: number, { rows }: CheckedFolder): string {
  const { upstreams } = rows.find((row) => row.id === id)!;
  if (upstreams.length === 1) return '/upstream_model';
  return `/upstreams/${at}`;
}
