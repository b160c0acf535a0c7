/** The pages repeat bounds and settings of the service; here they are compared with it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { reasonMax, referenceMax } from '../../server/src/core/account/booking.ts';
import { settingNames } from '../../server/src/core/account/key-settings.ts';
import { nameMax } from '../../server/src/core/account/name.ts';
import { voucherNoteMax } from '../../server/src/core/account/voucher.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const inputs: [file: string, before: string, max: number][] = [
  ['components/inputs.ts', 'NameInput', nameMax],
  ['dashboard/keys/keys-texts.ts', 'name:', nameMax],
  ['operator/inputs.ts', 'ReferenceInput', referenceMax],
  ['operator/inputs.ts', 'ReasonInput', reasonMax],
  ['operator/vouchers/NewVouchers.tsx', "t('note", voucherNoteMax],
];
for (const [file, before, max] of inputs)
  test(`${before} of ${file} takes as many characters as the service`, () => {
    const text = read(`web/src/${file}`);
    const after = text.slice(text.indexOf(before));
    assert.equal(Number(/maxLength(?:=\{|: )(\d+)/.exec(after)?.[1]), max);
  });

/** Files whose texts may have several lines; the service refuses a line break in all others. */
const ofSeveralLines = [
  'dashboard/team/BilledTo.tsx',
  'operator/settings/Settings.tsx',
  'studio/chat/ChatSettings.tsx',
  'studio/chat/Composer.tsx',
  'studio/chat/Question.tsx',
  'studio/form/Field.tsx',
  'studio/form/InputForm.tsx',
];
test('only a text that may have several lines is typed into a field of several lines', () => {
  const files = readdirSync(new URL('../src', import.meta.url), { recursive: true }).map(String);
  const used = files.filter(
    (file) => /\.tsx?$/.test(file) && /\bTextarea\b/.test(read(`web/src/${file}`)),
  );
  assert.deepEqual(used.toSorted(), ofSeveralLines);
});

/** The table after `const rights` in a file. */
const rightsIn = (path: string) => /const rights\b[^=]*= (\{[^}]*\});/.exec(read(path))![1];
test('the pages know the rights of each role', () => {
  assert.equal(rightsIn('web/src/session.tsx'), rightsIn('server/src/core/account/role.ts'));
});

/** Settings that a place leaves out: the console's list has the limits, which it sets there. */
const leftOut: Record<string, string[]> = {
  'web/src/operator/accounts/AccountKeys.tsx': ['expires_at', 'models'],
};
const places = [
  'docs/api/keys.md',
  'docs/api/operator.md',
  'web/src/dashboard/keys/KeyForm.tsx',
  'web/src/dashboard/keys/KeyRow.tsx',
  'web/src/operator/accounts/AccountKeys.tsx',
  'server/src/commands/key.ts',
];
for (const place of places)
  test(`${place} shows each setting of a key`, () => {
    const text = read(place);
    const missing = settingNames.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    assert.deepEqual(missing.toSorted(), leftOut[place] ?? []);
  });
