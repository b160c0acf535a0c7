/** Functions of the studio: streams, texts of models, controls of a form. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { eventsOf } from '../../../client/src/events.ts';
import { chunksOfStream } from '../../../client/src/runtime.ts';
import type { Model } from '../../src/api-types.ts';
import { exactJson, shownNumber, typedNumber } from '../../src/exact-json.ts';
import { filterModels, firstChoice, modelsThatTake } from '../../src/studio/models.ts';
import { readMarkdown, safeAddress } from '../../src/studio/chat/read-markdown.ts';
import {
  anotherSeed,
  controlOf,
  defaultsOf,
  fieldsOf,
  missing,
  sidesOf,
} from '../../src/studio/form/schema.ts';

/**
 * A time that grows with the square of a text's length is far longer; one that grows with the
 * length, far shorter.
 */
const lastsMax = 2;

/** Seconds of processor time, because other processes may slow down the machine. */
function secondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

describe('server-sent events', () => {
  const text = ': hi\r\nevent: status\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: x\n\ndata:y\r\r';
  const events = [
    { event: 'status', data: '{"a":\n1}' },
    { event: 'message', data: 'x' },
  ];

  const read = (...pieces: string[]) =>
    Array.fromAsync(
      eventsOf(chunksOfStream(ReadableStream.from(pieces.map((piece) => Buffer.from(piece))))),
    );

  test('are the same wherever the stream is cut', async () => {
    for (let at = 0; at <= text.length; at++) {
      const found = await read(text.slice(0, at), text.slice(at), '\n');
      assert.deepEqual(found, [...events, { event: 'message', data: 'y' }], `cut at ${at}`);
    }
  });

  test('that are incomplete are ignored', async () => {
    assert.deepEqual(await read('data: half\n'), []);
  });
});

describe('the text of a model', () => {
  test('links only where a browser may be sent', () => {
    for (const evil of [
      'javascript:alert(1)',
      'data:text/html,<b>',
      '//evil.example',
      '/dashboard',
    ])
      assert.equal(safeAddress(evil), null, evil);
    for (const good of ['https://example.com/a?b=c', 'http://example.com', 'mailto:a@example.com'])
      assert.equal(safeAddress(good), good);
  });

  test('is read in short time, whatever it is', () => {
    const spent = process.cpuUsage();
    for (const piece of ['*', '**a', '_', '`', '[', '[a](', '> ', '- ', '|', 'http://', '# ']) {
      readMarkdown(piece.repeat(20_000 / piece.length), true);
      readMarkdown(`${piece}\n`.repeat(2_000), true);
    }
    assert.ok(secondsSince(spent) < lastsMax);
  });

  const size = 200_000;
  const heavy: [string, string][] = [
    ['**a', '**a'],
    ['**a without an end', '**a '],
    ['emphasis', '*a* '],
    ['marks of emphasis', '_a'],
    ['code without an end', '``a `'],
    ['marks of links', '['],
    ['links', '[a](http://a.b) '],
  ].map(([name, piece]) => [name!, piece!.repeat(size / piece!.length)]);
  heavy.push(
    ['the line below a table, with an odd end', `|\n${'|-'.repeat(size / 2)}x`],
    ['a heading with a gap', `# a${' '.repeat(size)}x`],
    ['a heading of marks', `# ${'#'.repeat(size)}x`],
    ['a run of marks of code', '`'.repeat(size)],
    ['quotes within quotes', '> '.repeat(size / 2)],
    [
      'lists within lists',
      Array.from({ length: 100 }, (_, i) => `${'  '.repeat(i)}- a`).join('\n'),
    ],
  );
  for (const [name, text] of heavy) {
    test(`is read at once though it is long: ${name}`, { timeout: 20_000 }, () => {
      const spent = process.cpuUsage();
      readMarkdown(text, true);
      const seconds = secondsSince(spent);
      assert.ok(seconds < lastsMax, `${seconds} s`);
    });
  }

  test('that is being written shows no marks, and no wrong formatting', () => {
    const text =
      'So **bold** and `code` with a [link](https://a.b/c).\n- one\n- *two*\n\n| a | b |\n|---|---|\n| 1 | 2 |';
    for (let end = 1; end <= text.length; end++) {
      const tokens = readMarkdown(text.slice(0, end), true);
      const shown = textOf(tokens);
      assert.doesNotMatch(shown, /\*\*\w|`|\]\(|\|/, text.slice(0, end));
      const types = tokens.map(({ type }) => type).filter((type) => type !== 'space');
      const whole = ['paragraph', 'list', 'table'];
      assert.deepEqual(types, whole.slice(0, types.length), text.slice(0, end));
    }
  });

  test('that is still being written is shown as far as it is', () => {
    const [block] = readMarkdown('```js\nlet a', true);
    assert.ok(block?.type === 'code' && block.lang === 'js' && block.text === 'let a');
  });
});

/** The visible text of these tokens. */
function textOf(tokens: unknown): string {
  if (Array.isArray(tokens)) return tokens.map(textOf).join(' ');
  const { tokens: inside, items, header, rows, text } = tokens as Record<string, unknown>;
  const parts = [inside, items, header, rows].filter(Boolean);
  return parts.length > 0 ? parts.map(textOf).join(' ') : String(text ?? '');
}

describe('integers beyond 2^53 in the pages', () => {
  test('keep their digits when they are read, typed, shown and written', () => {
    const text =
      '{"seed":18446744073709551615,"ids":[-9007199254740993,5],"cost":"9007199254740993"}';
    const value = exactJson(text);
    assert.equal(JSON.stringify(value), text);
    for (const digits of ['18446744073709551615', '-9007199254740993']) {
      assert.equal(JSON.stringify(typedNumber(digits)), digits);
      assert.equal(shownNumber(typedNumber(digits)), digits);
    }
    assert.equal(JSON.stringify(typedNumber('0018446744073709551615')), '18446744073709551615');
  });

  test('others stay numbers, also where the field gives a long one as text', () => {
    const typed = ['20000000000000', 7, '1.5', '', '-', 'x'].map(typedNumber);
    assert.deepEqual(typed, [20_000_000_000_000, 7, 1.5, undefined, undefined, undefined]);
    assert.deepEqual(exactJson('[9007199254740991,1e300,1.25]'), [9007199254740991, 1e300, 1.25]);
    assert.deepEqual([shownNumber(7), shownNumber('7'), shownNumber(undefined)], [7, '', '']);
  });

  test('as limits of a seed they do not break its control', () => {
    const schema = exactJson('{"type":"integer","minimum":0,"maximum":18446744073709551615}');
    assert.deepEqual(controlOf('seed', schema as object), { as: 'seed', min: 0, max: 2 ** 64 });
  });
});

describe('the form of a model', () => {
  test('draws each shape by its own sides', () => {
    const drawn = {
      '16:9': [16, 9],
      '1024x1365': [1024, 1365],
      '2560*1440': [2560, 1440],
      square_hd: [1, 1],
      portrait_4_3: [3, 4],
      portrait_16_9: [9, 16],
      landscape_16_9: [16, 9],
      auto: null,
      match_input_image: null,
      '720p': null,
    };
    for (const [option, sides] of Object.entries(drawn)) assert.deepEqual(sidesOf(option), sides);
  });

  test('draws short seeds, within the limits of the model', () => {
    for (let i = 0; i < 100; i++) {
      const wide = anotherSeed(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      assert.ok(wide >= 0 && wide < 2 ** 31, `${wide}`);
      const narrow = anotherSeed(-9, -3);
      assert.ok(narrow >= -9 && narrow <= -3, `${narrow}`);
    }
    assert.equal(anotherSeed(7, 7), 7);
  });

  test('has a control for each kind of field', () => {
    const of = (name: string, schema: object) => controlOf(name, schema).as;
    assert.equal(of('prompt', { type: 'string' }), 'text');
    assert.equal(of('image_url', { type: 'string' }), 'media');
    assert.equal(of('image_urls', { type: 'array', items: { type: 'string' } }), 'media_list');
    assert.equal(of('tags', { type: 'array', items: { type: 'string' } }), 'text_list');
    assert.equal(of('seed', { type: ['integer', 'null'] }), 'seed');
    for (const shapes of [
      ['16:9', 'match_input_image', '1:1'],
      ['1024x1024', '1024x1365'],
      ['2048*2048', '2560*1440'],
      ['square_hd', 'portrait_4_3'],
    ])
      assert.equal(of('shape', { enum: shapes }), 'ratio', shapes[0]);
    for (const words of [
      ['hd', 'sd'],
      ['1k', '16:9'],
      ['480p', '720p'],
      ['1:1', 'no way'],
    ])
      assert.equal(of('shape', { enum: words }), 'choice', words[0]);
    assert.equal(of('steps', { type: 'integer', minimum: 1, maximum: 50 }), 'number');
    assert.equal(of('mute', { type: 'boolean' }), 'switch');
    assert.equal(of('style', { enum: ['a', 'b'] }), 'choice');
    assert.equal(of('aspect_ratio', { enum: ['1:1', '16:9'] }), 'ratio');
    assert.equal(of('odd', { type: 'object' }), 'json');
    assert.equal(of('odd', {}), 'json');
  });

  test('has required fields first, and shows the defaults', () => {
    const schema = {
      required: ['b'],
      properties: {
        a: { type: 'integer', default: 4 },
        b: { $ref: '#/$defs/text' },
        c: { anyOf: [{ type: 'boolean' }, { type: 'null' }], default: false },
      },
      $defs: { text: { type: 'string' } },
    };
    const fields = fieldsOf(schema);
    assert.deepEqual(
      fields.map(({ name, control }) => [name, control.as]),
      [
        ['b', 'text'],
        ['a', 'number'],
        ['c', 'switch'],
      ],
    );
    assert.deepEqual(defaultsOf(schema), { a: 4, c: false });
    assert.deepEqual(
      missing(fields, { a: 4 }).map(({ name }) => name),
      ['b'],
    );
    assert.deepEqual(missing(fields, { b: 'x' }), []);
  });

  test('needs no JSON for any field of the shipped catalogs', () => {
    const folder = join(import.meta.dirname, '../../../catalog');
    const asJson = new Set<string>();
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
      const { models } = parse(readFileSync(join(folder, file), 'utf8'), { merge: true });
      for (const { id, input_schema, kind } of models) {
        if (kind === 'text' || !input_schema) continue;
        for (const { name, control } of fieldsOf(input_schema))
          if (control.as === 'json') asJson.add(`${id} ${name}`);
      }
    }
    assert.deepEqual([...asJson], []);
  });
});

describe('the gallery', () => {
  const model = (id: string, more: Partial<Model>): Model => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'acme',
    name: id,
    description: '',
    kind: 'image',
    task: 'text-to-image',
    median_seconds: null,
    price: 1,
    unit: 'image',
    extras: [],
    max: 0,
    max_unit: 'images',
    resolutions: [],
    uncensored: false,
    status: 'live',
    input_schema: {},
    example: {},
    ...more,
  });
  const models = [
    model('film', { kind: 'video', task: 'text-to-video' }),
    model('dear', { price: 2 }),
    model('cheap', { price: 0.5, description: 'a film look' }),
    model('edit', { task: 'edit', input_schema: { properties: { image_url: {} } } }),
    model('free', { uncensored: true, price: 3 }),
  ];
  const ids = (wish: object) => filterModels(models, wish).map(({ id }) => id);

  test('has models that make before models that edit, and cheap ones first', () => {
    assert.deepEqual(ids({}), ['cheap', 'dear', 'free', 'edit', 'film']);
  });

  test('finds by all words, in names before descriptions, and by filters', () => {
    assert.deepEqual(ids({ q: 'FILM' }), ['film', 'cheap']);
    assert.deepEqual(ids({ q: 'film text-to-video' }), ['film']);
    assert.deepEqual(ids({ q: 'uncensored' }), ['free']);
    assert.deepEqual(ids({ kind: 'image', task: 'edit' }), ['edit']);
    assert.deepEqual(ids({ q: 'nothing' }), []);
  });

  test('begins with the cheapest model that needs no file', () => {
    const given = model('given', { price: 0.1, example: { image_url: 'https://a.example/a.png' } });
    assert.equal(firstChoice([given, ...models])?.id, 'cheap');
    assert.equal(firstChoice([given])?.id, 'given');
    assert.equal(firstChoice([]), undefined);
    const text = { kind: 'text', task: 'chat', unit: '1M tokens' } as const;
    const chats = [
      model('wordy', { ...text, price: { input: 0.1, output: 8 } }),
      model('terse', { ...text, price: { input: 0.2, output: 0.4 } }),
    ];
    assert.equal(firstChoice(chats)?.id, 'terse');
  });

  test('knows which models take an image', () => {
    assert.deepEqual(
      modelsThatTake(models, 'image').map(({ id }) => id),
      ['edit'],
    );
  });
});
