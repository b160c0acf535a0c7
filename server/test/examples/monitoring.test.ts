import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { debianPackage } from '../kit/debian.ts';
import { withService } from '../kit/with-service.ts';
import { anchorsOf } from '../layout/papers.ts';

/** The alerts and the dashboard ask for metrics that there are, in queries that Prometheus reads. */

interface Alert {
  alert: string;
  expr: string;
  annotations: { summary: string; action: string; docs: string };
}
const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'examples/monitoring');
const rules = parse(await readFile(join(folder, 'rules.yml'), 'utf8')) as {
  groups: { rules: Alert[] }[];
};
const alerts = rules.groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(await readFile(join(folder, 'dashboard.json'), 'utf8')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
};
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);
const { service } = withService({});

const named = (expr: string) => expr.match(/farebox_[a-z0-9_]+/g) ?? [];
/** A histogram's series have endings of their own. */
const plain = (name: string) => name.replace(/_(bucket|sum|count)$/, '');

describe('each query', () => {
  test('asks for a metric that the docs have', async () => {
    const docs = await readFile(join(root, 'docs/operating/monitoring.md'), 'utf8');
    const { text } = await service.call('GET', '/metrics', { base: service.base });
    const shown = new Set([...text.matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name!));
    const known = (name: string) =>
      docs.includes(`\`${name}\``) || (/_(process|nodejs)_/.test(name) && shown.has(name));
    const asked = [...alerts, ...queries].flatMap(({ expr }) => named(expr));
    assert.ok(asked.length > 60);
    assert.deepEqual(
      asked.filter((name) => !known(plain(name))),
      [],
    );
    // The docs name no metric that the service lacks, but for those of chains, of several
    // processes and of a standby, which it has none of.
    const inDocs = new Set(docs.match(/`farebox_[a-z_]+`/g)!.map((name) => name.slice(1, -1)));
    assert.deepEqual(
      [...inDocs].filter(
        (name) => !shown.has(name) && !/chain|deposits_held|processes|reader/.test(name),
      ),
      [],
    );
    assert.deepEqual(
      [...shown].filter((name) => !inDocs.has(name) && !/_(process|nodejs)_/.test(name)),
      [],
    );
  });

  test('is read by Prometheus', async (t) => {
    const prometheus = await debianPackage('prometheus');
    if (prometheus === null) return t.skip('not run: promtool');
    const promtool = join(prometheus, 'usr/bin/promtool');
    const asRules = queries.map(({ expr }, n) => ({
      record: `farebox:query_${n}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const file = join(await mkdtemp(join(tmpdir(), 'queries-')), 'dashboard.yml');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }));
    const run = promisify(execFile);
    await run(promtool, ['check', 'config', join(folder, 'prometheus.yml')]);
    const { stdout } = await run(promtool, ['check', 'rules', file]);
    assert.match(stdout, new RegExp(`SUCCESS: ${queries.length} rules found`));
  });
});

describe('each alert', () => {
  for (const { alert, annotations } of alerts) {
    test(`${alert} says what is wrong, what to do and where to read on`, async () => {
      assert.match(annotations.summary, /^[A-Z"{].+\.$/);
      assert.match(annotations.action, /^[A-Z].+\.$/);
      const [page, anchor] = annotations.docs.split('#');
      assert.ok(anchorsOf(await readFile(join(root, page!), 'utf8')).has(anchor!));
    });
  }
});
