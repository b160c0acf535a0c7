import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

/** The units of `examples/systemd`, as systemd's own checks see them; none is started here. */

const skip =
  spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'not run: systemd-analyze';
/** Exposure goes up to 10; below 2 systemd calls a service well protected. */
const exposureMax = 2;
const folder = mkdtempSync(join(tmpdir(), 'units-'));
cpSync(join(import.meta.dirname, '../../../examples/systemd'), folder, { recursive: true });
const units = readdirSync(folder)
  .filter((name) => /\.(service|timer|socket)$/.test(name))
  .map((name) => {
    const unit = readFileSync(join(folder, name), 'utf8');
    // The check wants programs that are there.
    const started = unit.replaceAll('/opt/farebox/node_modules/node/bin/node', '/bin/true');
    const instance = name.replace('@.', '@8080.');
    for (const each of [name, instance]) writeFileSync(join(folder, each), started);
    return instance;
  });
const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };

describe('each unit', { skip }, () => {
  for (const unit of units)
    test(`${unit} is understood by systemd`, () => {
      const { stderr, status } = spawnSync('systemd-analyze', ['verify', join(folder, unit)], {
        env,
        encoding: 'utf8',
      });
      assert.deepEqual([status, stderr], [0, '']);
    });

  for (const unit of units.filter((name) => name.endsWith('.service')))
    test(`${unit} may do little more than it needs`, () => {
      const args = ['security', '--offline=true', join(folder, unit)];
      const text = execFileSync('systemd-analyze', args, { env, encoding: 'utf8' });
      const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(text)?.[1]);
      assert.ok(exposure < exposureMax, text);
    });
});
