import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adapterNames } from '../../src/core/catalog/upstream-definition.ts';
import { adapters } from '../../src/upstreams/adapters.ts';
import { chatWires } from './chat-wires.ts';
import type { Rig } from './conformance.ts';
import fileSchema from '../../../catalog/schema.json' with { type: 'json' };

const root = join(import.meta.dirname, '../../..');
const { properties, allOf } = fileSchema.$defs.definition;
const withOptions = allOf.map((rule) => rule.if.properties.adapter.const);
const pages = readFileSync(join(root, 'docs/upstreams.md'), 'utf8');

const rigFiles = readdirSync(join(import.meta.dirname, 'rigs'));
const rigs = await Promise.all(
  rigFiles.map(async (file) => ((await import(`./rigs/${file}`)) as { rig: Rig }).rig),
);

/** Places that name each adapter, besides its folder and its row in `adapters.ts`. */
const places: Record<string, (name: string) => boolean> = {
  'its name among adapterNames in server/src/core/catalog/upstream-definition.ts': (name) =>
    (adapterNames as readonly string[]).includes(name),
  'its name in the enum of adapter in catalog/schema.json': (name) =>
    properties.adapter.enum.includes(name),
  'the form of its options in catalog/schema.json, in allOf of the definition': (name) =>
    withOptions.includes(name),
  'a rig in server/test/upstreams/rigs/, or its API among chatWires if it has only chat': (name) =>
    [...rigs, ...Object.values(chatWires)].some(({ adapter }) => adapter === name),
  'its page in docs/upstreams/': (name) => existsSync(join(root, `docs/upstreams/${name}.md`)),
  'its row in the table of docs/upstreams.md': (name) =>
    pages.includes(`| [${name}](upstreams/${name}.md) |`),
};

for (const [place, has] of Object.entries(places)) {
  test(`every adapter has ${place}`, () => {
    const without = Object.keys(adapters).filter((name) => !has(name));
    assert.equal(without.join(', '), '', `${without.join(', ')}: write ${place}`);
  });
}

test('every name of an adapter has one', () => {
  const named = new Set([...adapterNames, ...properties.adapter.enum, ...withOptions]);
  assert.deepEqual([...named].toSorted(), Object.keys(adapters).toSorted());
});
