import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandLine } from '../../src/commands/program.ts';
import { readProject } from '../layout/project.ts';

/** Operators type what docs, examples and hints name. */

const read = /^(README\.md|(docs|examples)\/.*|(server|web)\/src\/.*(?<!\.test)\.tsx?)$/;

test('each command that is named is there, with its options', async () => {
  const { program } = await commandLine({ env: {}, out: () => {}, err: () => {} });
  const wrong: string[] = [];
  let count = 0;
  for (const [file, whole] of readProject(join(import.meta.dirname, '../../..'))) {
    if (!read.test(file)) continue;
    const text = whole.replaceAll(/\\\n\s*/g, ' ');
    for (const [, line = ''] of text.matchAll(/\bfarebox ([a-z][^\n`"'|;)#]*)/g)) {
      const words = line.trim().split(/\s+/);
      let command = program;
      for (;;) {
        const found = command.commands.find((each) => each.name() === words[0]);
        if (found === undefined) break;
        command = found;
        words.shift();
      }
      // It is also the name of the service in sentences.
      if (command === program) continue;
      count += 1;
      const options = new Set([...command.options, ...program.options].map(({ long }) => long));
      for (const [option] of words.join(' ').matchAll(/(?<=^| )--[a-z][a-z-]*/g))
        if (!options.has(option) && option !== '--help') wrong.push(`${file}: ${line}`);
    }
  }
  assert.ok(count > 250, `only ${count} were found`);
  assert.deepEqual(wrong, []);
});
