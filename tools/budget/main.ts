/**
 * Prints the lines of each room beside its budget, and beside another commit's if one is named:
 *   npm run budget -- v0.1.0
 * With --tight it prints only the rooms and workspaces that have little left.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import {
  budgets,
  ceilings,
  linesByRoom,
  linesOf,
  tightIn,
} from '../../server/test/layout/budget.ts';
import { readProject, type Project } from '../../server/test/layout/project.ts';

const root = path.resolve(import.meta.dirname, '../..');
const [ref] = process.argv.slice(2);

const git = (args: string[], input?: string): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', input, maxBuffer: 2 ** 30 });

/** The code of a commit. */
function projectAt(commit: string): Project {
  const names = git(['ls-tree', '-r', '--name-only', commit]).split('\n').filter(isCode);
  return new Map(names.map((name) => [name, git(['show', `${commit}:${name}`])]));
}

function isCode(file: string): boolean {
  return /\.tsx?$/.test(file);
}

/** Source files of each of the newest features, most files last. */
function touchedByFeatures(count: number): number[] {
  const commits = git(['log', `-${count}`, '--format=%h', '--grep=^feat']).split('\n');
  return commits
    .filter((commit) => commit !== '')
    .map((commit) => git(['show', '--format=', '--name-only', commit]).split('\n'))
    .map((files) => files.filter((file) => isCode(file) && /\/src\//.test(file)))
    .map((files) => files.filter((file) => !/\.test\.tsx?$/.test(file)).length)
    .toSorted((a, b) => a - b);
}

const project = readProject(root);
const now = linesByRoom(project);
if (ref === '--tight') {
  for (const said of tightIn(project)) console.log(said);
  process.exit();
}
const then = ref === undefined ? undefined : linesByRoom(projectAt(ref));
const rooms = [...new Set([...Object.keys(budgets), ...now.keys(), ...(then?.keys() ?? [])])];

const row = (name: string, ...cells: unknown[]) =>
  console.log(name.padEnd(24), ...cells.map((cell) => String(cell ?? '-').padStart(9)));

row('room', 'lines', 'budget', ...(then ? [ref] : []));
for (const room of rooms.toSorted())
  row(room, now.get(room), budgets[room], ...(then ? [then.get(room)] : []));
for (const workspace of ['server', 'web', 'client'])
  row(
    `${workspace}, all`,
    linesOf(workspace, now),
    ceilings[`${workspace}/src`] ?? '',
    ...(then ? [linesOf(workspace, then)] : []),
  );

const touched = touchedByFeatures(40);
const at = (share: number) => touched[Math.floor(share * (touched.length - 1))];
console.log(
  `\nSource files that each of the newest ${touched.length} features touched: ` +
    `half at most ${at(0.5)}, nine of ten at most ${at(0.9)}.`,
);
