/** Checks everything beside the code: documents, migrations, dependencies, the tests themselves. */
import path from 'node:path';
import { faultsOf, releases } from '../../src/db/migration/rule.ts';
import { guards } from '../../src/ledger/guards.ts';
import type { Project } from './project.ts';
import { lineAt } from './source.ts';

const dependenciesPage = 'docs/dependencies.md';

interface Link {
  from: string;
  where: string;
  /** Path in the repository; '' is its root. */
  file: string;
  anchor: string;
}

export function checkLinks(project: Project): string[] {
  const folders = new Set(['']);
  for (const file of project.keys()) {
    for (let up = path.posix.dirname(file); up !== '.'; up = path.posix.dirname(up))
      folders.add(up);
  }
  return linksOf(project).flatMap(({ where, file, anchor }) => {
    if (!project.has(file)) return folders.has(file) ? [] : [`${where} leads to no ${file}`];
    if (anchor === '' || !file.endsWith('.md')) return [];
    return anchorsOf(project.get(file)!).has(anchor) ? [] : [`${where} ${file} has no #${anchor}`];
  });
}

export function checkDocsAreLinked(project: Project): string[] {
  const linked = new Set(
    linksOf(project)
      .filter(({ from, file }) => from !== file)
      .map(({ file }) => file),
  );
  return [...project.keys()]
    .filter((file) => file.startsWith('docs/') && !linked.has(file))
    .map((file) => `${file} is linked from nowhere`);
}

function linksOf(project: Project): Link[] {
  const pages = [...project].filter(([file]) => file.endsWith('.md'));
  return pages.flatMap(([from, text]) => {
    const prose = withoutCode(text);
    const inline = prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g);
    const reference = prose.matchAll(/^\s*\[[^\]]+\]:\s*<?([^\s>]+)/gm);
    const html = prose.matchAll(/\b(?:href|src)="([^"]+)"/g);
    return [...inline, ...reference, ...html].flatMap((match) => {
      const address = decodeURI(match[1]!);
      if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(address)) return [];
      const [file = '', anchor = ''] = address.split('#');
      const target = file === '' ? from : path.posix.join(path.posix.dirname(from), file);
      const where = `${from}:${lineAt(prose, match.index)}`;
      return [{ from, where, file: target.replace(/^\.?\/*|\/$/g, ''), anchor }];
    });
  });
}

/** Blanks code blocks and code spans, which may contain text that looks like a link. */
function withoutCode(markdown: string): string {
  const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ');
  return markdown
    .replaceAll(/^(\s*)(```+|~~~+)[^]*?^\s*\2[^\n]*$/gm, blank)
    .replaceAll(/(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/g, blank);
}

/** The anchors that the usual forges give to headings. */
export function anchorsOf(markdown: string): Set<string> {
  const names = new Set<string>();
  const headings = markdown.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm);
  for (const [, heading] of headings) {
    const text = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const name = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
    let unique = name;
    for (let n = 1; names.has(unique); n++) unique = `${name}-${n}`;
    names.add(unique);
  }
  for (const [, id] of markdown.matchAll(/\b(?:id|name)="([^"]+)"/g)) names.add(id!);
  return names;
}

export function checkDependencies(project: Project): string[] {
  const wanted = new Set<string>();
  const own = new Set<string>();
  for (const [file, text] of project) {
    if (path.posix.basename(file) !== 'package.json') continue;
    // Packages that a reader of an example installs are not dependencies of ours.
    if (file.startsWith('examples/')) continue;
    const manifest = JSON.parse(text) as Record<string, Record<string, string> | undefined>;
    own.add(String(manifest.name));
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      for (const name of Object.keys(manifest[kind] ?? {})) wanted.add(name);
    }
  }
  // Packages with one reason share a line.
  const cells = (project.get(dependenciesPage) ?? '').matchAll(/^\|\s*(`[^|]+`)\s*\|/gm);
  const listed = [...cells].flatMap(([, cell]) =>
    cell!.split(/,\s*/).map((name) => name.slice(1, -1)),
  );
  return [
    ...[...wanted]
      .filter((name) => !listed.includes(name) && !own.has(name))
      .map((name) => `${dependenciesPage} does not say why there is ${name}`),
    ...listed
      .filter((name, index) => !wanted.has(name) || listed.indexOf(name) !== index)
      .map((name) => `${dependenciesPage} has a line too many for ${name}`),
  ];
}

export function checkMigrations(project: Project): string[] {
  const folder = 'server/migrations/';
  const names = [...project.keys()]
    .filter((file) => file.startsWith(folder))
    .map((file) => file.slice(folder.length))
    .sort();
  return names.flatMap((name, index) => {
    const number = String(index + 1).padStart(4, '0');
    const isRight = name.startsWith(`${number}_`) && /^\d{4}_[a-z\d_]+\.sql$/.test(name);
    return isRight ? [] : [`${folder}${name} should be ${number}_words.sql`];
  });
}

const laws = new Set(Object.values(guards.constraint).flatMap((names) => Object.keys(names)));

/** Each one runs beside the version before, and takes nothing away that this one may still use. */
export function checkMigrationsBeside(project: Project): string[] {
  return [...project]
    .filter(([file]) => file.startsWith('server/migrations/'))
    .flatMap(([file, text]) => {
      const number = Number(/(\d+)_/.exec(file)?.[1]);
      return faultsOf(number, text, laws).map((fault) => `${file}: ${fault}`);
    });
}

/** A migration names a release only if the newest migration of that release is known. */
export function checkReleases(project: Project): string[] {
  const heads = (project.get('CHANGELOG.md') ?? '').matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm);
  const [newest] = [...heads].map(([, release]) => release!);
  return newest === undefined || releases[newest] !== undefined
    ? []
    : [`db/migration/rule.ts does not say which migration is the newest of ${newest}`];
}

const testFolders = /^((server|client)\/(src|test)|web\/test|bench|tools)\//;

export function checkTestsAreRun(project: Project): string[] {
  return [...project.keys()]
    .filter((file) => /[._-](test|spec)\.[cm]?[jt]sx?$/.test(file))
    .filter((file) => !testFolders.test(file) || !file.endsWith('.test.ts'))
    .map((file) => `${file} is a test that no command runs`);
}
