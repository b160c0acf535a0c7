/** Checks which files may import which. */
import { isTest, sources, type Project } from './project.ts';
import { lineAt, type Import, type Source } from './source.ts';

/**
 * Rooms that a room may import from, besides itself. Rooms that are not listed form the top floor.
 */
const below: Record<string, string[]> = {
  lib: [],
  core: ['lib'],
  db: ['core', 'lib'],
  ledger: ['core', 'lib'],
  upstreams: ['core', 'lib'],
  chains: ['core', 'lib'],
  storage: ['core', 'lib'],
  catalog: ['core', 'lib'],
  operations: ['db', 'ledger', 'upstreams', 'storage', 'core', 'lib'],
  http: ['operations', 'db', 'ledger', 'upstreams', 'chains', 'storage', 'catalog', 'core', 'lib'],
  worker: [
    'operations',
    'db',
    'ledger',
    'upstreams',
    'chains',
    'storage',
    'catalog',
    'core',
    'lib',
  ],
};

/** Everything in ledger/ moves money, except these two files, which only read. */
const ledgerReaders =
  /^server\/src\/ledger\/(statement|bookings|transfers|transfer-sums|audit)\.ts$/;
const moneyMovers = new Set(['operations', 'ledger']);

const outside = 'what is outside server/src';

const entries = new Set(['server/src/main.ts', 'server/bin/farebox.mjs']);

export function checkFloors(project: Project): string[] {
  return edges(project, /^server\/src\//).flatMap(({ source, target, where }) => {
    const [from, to] = [roomOf(source.path), roomOf(target)];
    // Tests read their fixtures, and data files import nothing.
    const isData = !target.startsWith('server/src/') && /\.(json|sql|yaml)$/.test(target);
    if (from === to || isData || (to === outside && isTest(source.path))) return [];
    if (below[from] && !below[from].includes(to)) return [`${where} ${from} may not know ${to}`];
    const movesMoney = to === 'ledger' && !ledgerReaders.test(target);
    if (movesMoney && !moneyMovers.has(from)) {
      return [
        `${where} only operations may move money, ${from} may read statement, bookings, ` +
          'transfers, their sums and audit',
      ];
    }
    return [];
  });
}

/** Generates the man page of the command, in a checkout only. */
const generator = 'server/src/commands/generate.ts';

/** Files of the service that the pages show from, too. They import nothing. */
const shared = new Set(['server/src/core/snippets.ts', 'server/src/core/task-words.ts']);

/** The client's library ships without the command, and the service without both. */
export function checkClient(project: Project): string[] {
  return edges(project, /^(client|server|web)\/src\//).flatMap(({ source, target, where }) => {
    const [from, to] = [partOf(source.path), partOf(target)];
    const down = from === to || (from !== 'the service' && to === 'the library');
    const besides = from === 'the service' && to === 'the rest';
    if (from === 'the pages' && shared.has(target)) return [];
    if (shared.has(source.path))
      return [`${where} the pages load this file, so it imports nothing`];
    if (down || besides || isTest(source.path) || source.path === generator) return [];
    return [`${where} ${from} may not know ${to}`];
  });
}

function partOf(file: string): string {
  if (file.startsWith('client/src/cli/')) return 'the command';
  if (file.startsWith('client/')) return 'the library';
  if (file.startsWith('web/src/')) return 'the pages';
  return file.startsWith('server/src/') ? 'the service' : 'the rest';
}

/** `server/src/db/accounts/keys.ts` → `db`; files and folders of the top floor are one room. */
function roomOf(file: string): string {
  const room = /^server\/src\/([^/]+)\//.exec(file)?.[1] ?? '';
  if (room in below) return room;
  return file.startsWith('server/src/') ? 'the top floor' : outside;
}

export function checkCircles(project: Project): string[] {
  const next = new Map<string, string[]>();
  for (const { source, target, form } of edges(project, /./)) {
    if (form.kind === 'lazy') continue;
    next.set(source.path, [...(next.get(source.path) ?? []), target]);
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, trail: string[]) => {
    const seenAt = trail.indexOf(file);
    if (seenAt !== -1) circles.push([...trail.slice(seenAt), file].join(' → '));
    if (seenAt !== -1 || done.has(file)) return;
    for (const target of next.get(file) ?? []) walk(target, [...trail, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return circles;
}

/** A file that only its own test imports is dead as well, so tests do not count. */
export function checkDeadFiles(project: Project): string[] {
  const next = Map.groupBy(edges(project, /./), ({ source }) => source.path);
  const living = new Set<string>();
  const visit = (file: string) => {
    if (living.has(file)) return;
    living.add(file);
    for (const { target } of next.get(file) ?? []) visit(target);
  };
  for (const entry of entries) visit(entry);
  return sources(project, /^server\/src\//)
    .filter(({ path }) => !isTest(path) && !living.has(path))
    .map(({ path }) => `${path} is reached from no entry`);
}

const doors =
  /^node:(fs|net|http|https|http2|tls|dns|dgram|child_process|worker_threads|cluster|timers|process|os|readline|stream)(\/|$)/;
const impure =
  /\bnew\s+Date\s*(?:\(\s*\)|(?![\s(]))|\b(?:Date\.now|performance\.now|Math\.random|setTimeout|setInterval|fetch)\s*\(|\bprocess\./g;

export function checkPureCore(project: Project): string[] {
  const core = sources(project, /^server\/src\/core\//).filter(({ path }) => !isTest(path));
  return core.flatMap((source) => [
    ...source.imports
      .filter(({ specifier }) => doors.test(specifier))
      .map((one) => `${place(source, one.start)} imports ${one.specifier}`),
    ...[...source.code.matchAll(impure)].map(
      (match) => `${place(source, match.index)} uses ${match[0]}`,
    ),
  ]);
}

interface Edge {
  source: Source;
  target: string;
  form: Import;
  where: string;
}

function edges(project: Project, from: RegExp): Edge[] {
  return sources(project, from).flatMap((source) =>
    source.imports.flatMap((form) =>
      form.target === undefined
        ? []
        : [{ source, target: form.target, form, where: place(source, form.start) }],
    ),
  );
}

export function place(source: Source, index: number): string {
  return `${source.path}:${lineAt(source.text, index)}`;
}
