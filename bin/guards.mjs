// Names the libraries that guard people and money and have not been compared for long, or lag
// behind. It only prints: a check that fails with time would fail for old commits too.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const daysMax = 31;

const page = readFileSync(path.join(root, 'docs', 'dependencies.md'), 'utf8');
const [, day, list = ''] = /^Compared on (\d{4}-\d\d-\d\d): (.+?)\.$/ms.exec(page) ?? [];
if (day === undefined) throw new Error('docs/dependencies.md has no line "Compared on DATE: …".');
const names = [...list.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
const { dependencies } = JSON.parse(
  readFileSync(path.join(root, 'server', 'package.json'), 'utf8'),
);
const unknown = names.filter((name) => dependencies[name] === undefined);
if (unknown.length > 0)
  throw new Error(`docs/dependencies.md names ${unknown.join(', ')} in vain.`);

const days = Math.floor((Date.now() - Date.parse(day)) / 86_400_000);
if (days > daysMax)
  console.log(
    `The libraries that guard people and money were compared with the registry ${days} days ago.`,
  );

// Without a registry this gives no JSON, and nothing is said.
const quick = ['--fetch-retries=0', '--fetch-timeout=5000'];
const { stdout } = spawnSync('npm', ['outdated', '--json', '-w', 'server', ...quick, ...names], {
  cwd: root,
  encoding: 'utf8',
  timeout: 20_000,
});
// A library that is installed twice is a list.
for (const [name, { current, latest }] of Object.entries(parse(stdout)).map(first))
  if (latest) console.log(`${name} is ${current}; the newest is ${latest}.`);

function first([name, found]) {
  return [name, [found].flat()[0]];
}

function parse(text) {
  try {
    const told = JSON.parse(text);
    return told.error ? {} : told;
  } catch {
    return {};
  }
}
