/** Decisions of `fare` that depend on its arguments alone, and its help pages. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { usualName } from '../../src/cli/jobs/file-name.ts';
import { demandWhole, valueOf } from '../../src/cli/jobs/input.ts';
import { nearest, priceText, quoted } from '../../src/cli/models.ts';
import { pictureText, protocolOf } from '../../src/cli/terminal/picture.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { remarksOf } from '../../src/cli/verb.ts';
import { baseUrlOf } from '../../src/cli/settings.ts';
import { bar, cut, layOut, plain, widthOf, wrap } from '../../src/cli/terminal/terminal.ts';
import { notBuilt, program } from './fare-kit.ts';

describe('an input as text', () => {
  const cases: [object | undefined, string, unknown][] = [
    [{ type: 'string' }, '007', '007'],
    [{ type: 'integer' }, '7', 7],
    [{ type: 'integer' }, 'seven', 'seven'],
    [{ type: 'boolean' }, 'true', true],
    [{ type: ['string', 'number'] }, '7', 7],
    [{ enum: ['1k', '2k'] }, '1k', '1k'],
    [{ anyOf: [{ type: 'string' }, { type: 'object' }] }, '{"width":64}', { width: 64 }],
    [{ anyOf: [{ type: 'string' }, { type: 'object' }] }, '64', '64'],
    [undefined, '7', 7],
    [undefined, '"7"', '"7"'],
    [undefined, 'words', 'words'],
  ];
  for (const [schema, text, value] of cases) {
    test(`${text} for ${JSON.stringify(schema) ?? 'an unknown field'}`, () => {
      assert.deepEqual(valueOf(schema as never, text), value);
    });
  }
});

test('an integer that would be rounded is refused by the name of its field', () => {
  for (const text of ['9007199254740993', '-18446744073709551615', '[{"id":9007199254740993}]'])
    assert.throws(
      () => demandWhole(valueOf(undefined, text), 'seed'),
      /seed has an integer beyond/,
    );
  for (const text of ['9007199254740991', '1.5', '"9007199254740993"', 'words', '[1]'])
    assert.deepEqual(demandWhole(valueOf(undefined, text), 'seed'), valueOf(undefined, text));
});

test('the price of a text model names those of its cache, where it has them', () => {
  const text = (more: object) =>
    priceText({ price: { input: 2.4, output: 12, ...more }, unit: '1M tokens' } as never);
  assert.equal(text({}), '$2.40 in, $12.00 out per 1M tokens');
  assert.equal(
    text({ cached_input: 0.12, cache_write: 3 }),
    '$2.40 in, $0.12 from cache, $3.00 to cache, $12.00 out per 1M tokens',
  );
});

describe('the name of a file', () => {
  const id = '0199c0de-1234-7abc-8def-0123456789AB';
  const cases: [string, string, string, string | undefined, string][] = [
    ['a cat', id, 'image/png', undefined, 'a-cat-6789ab.png'],
    ['a cat', id, 'image/png; a=b', 'x.exe', 'a-cat-6789ab.png'],
    ['a cat', id, 'application/octet-stream', 'x.MP4', 'a-cat-6789ab.mp4'],
    ['a cat', id, 'text/x-sh', 'x.sh', 'a-cat-6789ab.bin'],
    ['a cat', id, 'x/../../bashrc', '.bashrc', 'a-cat-6789ab.bin'],
    ['a cat', 'xy/../', 'a', 'x.npmrc', 'a-cat-output.bin'],
    ['a cat', `${id}/../..`, 'image/png', undefined, 'a-cat-output.png'],
    ['a cat', `..\\..\\a`, 'constructor', 'x', 'a-cat-output.bin'],
    ['../../.ssh/config', id, 'image/gif', undefined, 'ssh-config-6789ab.gif'],
    ['...', id, 'image/gif', undefined, 'model-6789ab.gif'],
  ];
  for (const [prompt, request_id, content_type, file_name, name] of cases) {
    test(`${prompt} of ${request_id}, ${content_type}, ${file_name}: ${name}`, () => {
      const card = { input: { prompt }, model_id: 'a/../model', request_id };
      const media = { content_type, ...(file_name !== undefined && { file_name }) };
      assert.equal(usualName(card, media), name);
    });
  }
  test('of a request without a single letter', () => {
    const card = { input: {}, model_id: '../..', request_id: '-' };
    assert.equal(usualName(card, { content_type: 'video/mp4' }), 'output-output.mp4');
  });
});

describe('an address', () => {
  for (const [text, url] of [
    ['localhost:8080', 'http://localhost:8080/v1'],
    ['fare.example.com/', 'https://fare.example.com/v1'],
    ['http://10.0.0.1:99/v1/', 'http://10.0.0.1:99/v1'],
    ['https://example.com/gate/v1', 'https://example.com/gate/v1'],
  ]) {
    test(text!, () => assert.equal(baseUrlOf(text!), url));
  }
  test('with a name and a password in it is refused', () => {
    assert.throws(() => baseUrlOf('https://me:secret@example.com'), {
      message: 'The address must not contain a user name or password: the key is sent instead.',
    });
  });
});

describe('a table', () => {
  const rows = [
    ['sandbox/a', 'image', '$0.01 an image'],
    [
      'sandbox/a/very/long/id/that/is/longer/than/others',
      'video',
      'a price of many words, told at length',
    ],
  ];
  for (const columns of [120, 80, 60, 40, 20]) {
    test(`at ${columns} columns loses no word and breaks no line but between words`, () => {
      const lines = layOut(['MODEL', 'KIND', 'PRICE'], rows, columns);
      const text = lines.join(' ').replaceAll(/\s+/g, ' ');
      for (const word of rows.flat().flatMap((cell) => cell.split(' ')))
        assert.ok(text.includes(word), word);
      const over = lines.filter((line) => widthOf(line) > columns && line.trim() !== rows[1]![0]);
      assert.deepEqual(over, []);
    });
  }
});

test('widths: wide characters count twice, combining ones not at all', () => {
  assert.deepEqual(
    ['abc', '日本', 'e\u0301', '🎬', '\u001B[1mab\u001B[0m'].map(widthOf),
    [3, 4, 1, 2, 2],
  );
  assert.equal(cut('日本語', 5), '日本…');
  assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
  assert.equal(bar(0.5, 4), '██░░');
  assert.equal(plain('a\u001B[2J\u0007\u202Eb\tc\nd'), 'a[2Jb\tc\nd');
});

test('a mistyped id finds a similar one, nonsense finds nothing', () => {
  const ids = ['sandbox/canvas/text-to-image', 'sandbox/film/text-to-video', 'sandbox-sketch'];
  assert.deepEqual(nearest('sandbox/canvas/text-to-imag', ids), ['sandbox/canvas/text-to-image']);
  assert.equal(nearest('sandbox/flim', ids)[0], 'sandbox/film/text-to-video');
  assert.deepEqual(nearest('sketch', ids), ['sandbox-sketch']);
  assert.deepEqual(nearest('xyzzy', ids), []);
});

test('quoting for a shell', () => {
  assert.equal(quoted("it's $HOME"), String.raw`'it'\''s $HOME'`);
  assert.equal(quoted('a=16:9'), 'a=16:9');
});

test('pictures: which terminal takes which protocol, in parts that it takes', () => {
  assert.equal(protocolOf({ TERM_PROGRAM: 'WezTerm' }), 'iterm');
  assert.equal(protocolOf({ TERM: 'xterm-ghostty' }), 'kitty');
  assert.equal(protocolOf({ TERM: 'tmux-256color', KITTY_WINDOW_ID: '1' }), null);
  assert.equal(protocolOf({ TERM: 'xterm-256color' }), null);
  const parts = pictureText('kitty', Buffer.alloc(7000)).split('\u001B\\').filter(Boolean);
  assert.deepEqual(
    parts.map((part) => /m=\d/.exec(part)![0]),
    ['m=1', 'm=1', 'm=0'],
  );
});

describe('help', () => {
  const folder = new URL('../../../catalog/', import.meta.url);
  const ids = new Set(
    readdirSync(folder)
      .filter((name) => name.endsWith('.yaml'))
      .flatMap((name) => parse(readFileSync(new URL(name, folder), 'utf8')).models ?? [])
      .map(({ id }: { id: string }) => id),
  );
  const verbs = buildProgram().commands.flatMap((command) => [command, ...command.commands]);

  test('each example is a call that its verb takes, of a model that exists', () => {
    for (const command of verbs) {
      for (const [call] of remarksOf(command).examples) {
        assert.match(call, new RegExp(`fare (webhook )?${command.name()}\\b`), call);
        for (const [id] of call.matchAll(/\bsandbox[\w/.-]*/g)) assert.ok(ids.has(id), id);
        for (const [flag] of call.matchAll(/(?<=\s)--[\w-]+/g))
          assert.match(command.helpInformation(), new RegExp(flag), call);
      }
    }
  });

  test('needs no network', () => {
    const env = {
      PATH: process.env.PATH,
      NODE_NO_WARNINGS: '1',
      FAREBOX_BASE_URL: 'http://127.0.0.1:9',
    };
    const run = (...args: string[]) =>
      execFileSync(process.execPath, [program, ...args], { env, encoding: 'utf8' });
    assert.match(run('--help'), /Exit codes:/);
    assert.match(run('run', '--help'), /--max-usd <amount>/);
    assert.match(run('--version'), /^\d+\.\d+\.\d+\n$/);
  });

  // Checks the loaded files, because a measured time would depend on the machine.
  test('a start loads the names of the verbs, and not their code', { skip: notBuilt }, () => {
    const read = new Map<string, number>();
    const load = (file: string) => {
      const text = readFileSync(file, 'utf8');
      read.set(path.basename(file), text.length);
      for (const [, next] of text.matchAll(/(?:from|import)\s*"(\.\/[^"]+)"/g))
        if (!read.has(path.basename(next!))) load(path.join(path.dirname(file), next!));
    };
    load(program);
    const names = [...read.keys()].join(' ');
    assert.doesNotMatch(names, /farebox|mcp|dist|chat/);
    assert.ok([...read.values()].reduce((sum, size) => sum + size) < 100_000, names);
  });
});
