import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isExplosive } from './catalog-check.ts';
import { catalogEntry } from './catalog-entry.ts';
import { parseCatalogFile } from './catalog-file.ts';
import { withoutDuplicateIds } from './catalog-conflicts.ts';
import { assembleCatalog, resolutions, tasks, type Model } from './catalog.ts';
import fileSchema from '../../../../catalog/schema.json' with { type: 'json' };

type Row = Record<string, unknown>;

const properties = {
  prompt: { type: 'string' },
  num_images: { type: 'integer', default: 1 },
  resolution: { enum: ['1k', '2k'] },
  reference_image_urls: { type: 'array', items: { type: 'string' } },
  generate_audio: { type: 'boolean', default: false },
};

const image: Row = {
  id: 'sandbox/canvas/text-to-image',
  kind: 'image',
  task: 'text-to-image',
  name: 'Canvas',
  price: { unit: 'image', usd: '0.01' },
  input_schema: { type: 'object', required: ['prompt'], properties },
  example: { prompt: 'a boat' },
};
const video: Row = {
  ...image,
  id: 'sandbox/film/text-to-video',
  kind: 'video',
  task: 'text-to-video',
  price: { unit: 'sec', usd: '0.04' },
};
const chat: Row = {
  id: 'sandbox/chat',
  kind: 'text',
  task: 'chat',
  name: 'Chat',
  price: { unit: '1M tokens', input_usd: '0.10', output_usd: '0.40' },
  context_tokens: 128_000,
  max_output_tokens: 8192,
};

function parse(...models: unknown[]) {
  return parseCatalogFile({ upstream: 'sandbox', models }, 'test.yaml');
}

function rowOf(form: Row): Model {
  const { rows, problems } = parse(form);
  assert.deepEqual(problems, []);
  return rows[0]!;
}

describe('a row', () => {
  test('is filled up with defaults', () => {
    assert.deepEqual(rowOf(image), {
      id: 'sandbox/canvas/text-to-image',
      kind: 'image',
      task: 'text-to-image',
      name: 'Canvas',
      description: '',
      owned_by: 'sandbox',
      created: Date.UTC(2026, 0, 1) / 1000,
      uncensored: false,
      price: { unit: 'image', unit_price_usd_micro: 10_000n, extras: [], max: 0, resolutions: [] },
      max_unit: 'images',
      input_schema: image.input_schema,
      example: image.example,
      upstreams: [
        {
          upstream: 'sandbox',
          model: 'sandbox/canvas/text-to-image',
          weight: null,
          input_mapping: {},
          input_defaults: {},
          cost_usd_micro: null,
          cost_output_usd_micro: null,
        },
      ],
      job_age_seconds: 600,
      on_disconnect: 'finish',
      hidden_tokens: false,
      input_modalities: ['text', 'image'],
      max_prompt_tokens: null,
      cost_may_exceed: null,
      checked_on: null,
      max_output_tokens: 0,
      context_tokens: 0,
      refuse_longer_prompts: false,
      image_tokens: 4_096,
    });
    assert.equal(rowOf(video).job_age_seconds, 3600);
    assert.equal(rowOf(video).max_unit, 'seconds');
    assert.equal(rowOf({ ...video, price: { unit: 'request', usd: '0.1' } }).max_unit, 'seconds');
    assert.equal(rowOf({ ...image, price: { unit: 'request', usd: '0.1' } }).max_unit, 'images');
  });

  test('keeps all that is said', () => {
    const model = rowOf({
      ...image,
      description: 'Draws.',
      owned_by: 'us',
      created: '2026-02-03',
      max: 4,
      price: { unit: 'image', usd_by_resolution: { '1k': '0.01', '2k': '0.025' } },
      resolutions: ['1k', '2k'],
      job_age_seconds: 30,
      upstream: 'other',
      upstream_model: 'canvas',
      cost_usd: '0.004',
      input_mapping: { prompt: 'text' },
      input_defaults: { safe: true },
      extras: [
        { per_item: 'reference_image_urls', free: 1, add_usd: '0.002', label: 'each further' },
        { when: 'generate_audio', equals: true, default: false, add_usd: '0.05', label: 'audio' },
      ],
    });
    assert.deepEqual(model.price, {
      unit: 'image',
      by_resolution: { '1k': 10_000n, '2k': 25_000n },
      max: 4,
      resolutions: ['1k', '2k'],
      extras: [
        {
          kind: 'per_item',
          field: 'reference_image_urls',
          free: 1,
          add_usd_micro: 2000n,
          label: 'each further',
        },
        {
          kind: 'when',
          field: 'generate_audio',
          equals: true,
          default: false,
          add_usd_micro: 50_000n,
          label: 'audio',
        },
      ],
    });
    assert.deepEqual(model.upstreams, [
      {
        upstream: 'other',
        model: 'canvas',
        weight: null,
        input_mapping: { prompt: 'text' },
        input_defaults: { safe: true },
        cost_usd_micro: 4000n,
        cost_output_usd_micro: null,
      },
    ]);
    assert.equal(model.created, Date.UTC(2026, 1, 3) / 1000);
    assert.deepEqual(
      [model.owned_by, model.description, model.job_age_seconds],
      ['us', 'Draws.', 30],
    );
  });

  test('may name several upstreams in order', () => {
    const { upstreams } = rowOf({
      ...image,
      upstreams: [{ upstream: 'fal', model: 'fal/x', cost_usd: '0.004' }, { model: 'y' }],
    });
    assert.deepEqual(
      upstreams.map(({ upstream, model, cost_usd_micro }) => [upstream, model, cost_usd_micro]),
      [
        ['fal', 'fal/x', 4000n],
        ['sandbox', 'y', null],
      ],
    );
  });

  test('may tell a cost of each resolution, of which the highest stands for what is not known', () => {
    const price = { unit: 'image', usd_by_resolution: { '1k': '0.01', '2k': '0.02' } };
    const costs = { '1k': '0.004', '2k': '0.009' };
    const [route] = rowOf({ ...image, price, cost_usd_by_resolution: costs }).upstreams;
    assert.deepEqual(
      [route!.cost_usd_micro, route!.cost_by_resolution],
      [9000n, { '1k': 4000n, '2k': 9000n }],
    );
  });

  test('of text gets the schema and example of a chat, and keeps both costs', () => {
    const model = rowOf({
      ...chat,
      cost_input_usd: '0.05',
      cost_output_usd: '0.2',
      on_disconnect: 'stop',
      hidden_tokens: true,
      input_modalities: ['text'],
    });
    assert.deepEqual(model.input_schema.required, ['messages']);
    assert.ok(Array.isArray(model.example.messages));
    assert.deepEqual(
      [model.upstreams[0]!.cost_usd_micro, model.upstreams[0]!.cost_output_usd_micro],
      [50_000n, 200_000n],
    );
    assert.deepEqual(
      [model.on_disconnect, model.hidden_tokens, model.input_modalities],
      ['stop', true, ['text']],
    );
    assert.deepEqual([model.max_output_tokens, model.context_tokens], [8192, 128_000]);
    assert.equal(model.job_age_seconds, 600);
  });

  test('offers the resolutions that have a price where it lists none', () => {
    const price = { unit: 'image', usd_by_resolution: { '2k': '0.02', '1k': '0.01' } };
    assert.deepEqual(rowOf({ ...image, price }).price.resolutions, ['2k', '1k']);
  });

  test("takes an extra's default from the schema, which is what goes upstream", () => {
    const extras = [{ when: 'generate_audio', equals: true, add_usd: '0.05', label: 'audio' }];
    const [extra] = rowOf({ ...image, extras }).price.extras;
    assert.equal(extra?.kind === 'when' && extra.default, false);
  });

  test('is uncensored when its id says so', () => {
    assert.equal(rowOf({ ...image, id: 'a/wan-uncensored/text-to-image' }).uncensored, true);
    assert.equal(
      rowOf({ ...image, id: 'a/wan/text-to-image', name: 'uncensored' }).uncensored,
      false,
    );
  });

  test('cannot be changed by who reads it', () => {
    const model = rowOf(image);
    assert.throws(() => {
      model.price.max = 99;
    }, TypeError);
    assert.throws(() => {
      model.upstreams[0]!.input_defaults.x = 1;
    }, TypeError);
  });
});

describe('what is wrong with a file', () => {
  const extra = { add_usd: '0.1', label: 'x' };
  const schemaWith = (changed: Row) => ({
    input_schema: { type: 'object', properties: { ...properties, ...changed } },
  });
  const byResolution = { unit: 'image', usd_by_resolution: { '1k': '0.01', '2k': '0.02' } };
  const table: [string, Row, string, RegExp][] = [
    ['no id', { id: undefined }, '', /^row 1: id is missing\.$/],
    ['an id with a space', { id: 'a b' }, '/id', /letters, digits/],
    ['an id with an empty segment', { id: 'a//b' }, '/id', /segments separated by/],
    ['an id that climbs', { id: 'a/../b' }, '/id', /beginning with a letter or digit/],
    ['an id that begins with /', { id: '/a' }, '/id', /segments/],
    ['an id that ends with /', { id: 'a/' }, '/id', /segments/],
    ['an id outside ASCII', { id: 'modèle' }, '/id', /segments/],
    ['a misspelt field', { prise: 1 }, '', /prise is not a known field; known fields are id, kind/],
    ['an unknown kind', { kind: 'audio' }, '/kind', /kind must be one of video, image, text/],
    ['an unknown task', { task: 'paint' }, '/task', /must be one of text-to-video, image-to-video/],
    ['a price as a number', { price: { unit: 'image', usd: 0.01 } }, '/price/usd', /in quotes/],
    [
      'a price of 7 decimals',
      { price: { unit: 'image', usd: '0.0000001' } },
      '/price/usd',
      /at most 6 decimals/,
    ],
    ['a price below zero', { price: { unit: 'image', usd: '-1' } }, '/price/usd', /decimal/],
    ['no price', { price: { unit: 'image' } }, '/price', /price.usd is missing/],
    [
      'a price of another kind',
      { price: { unit: 'image', usd: '1', input_usd: '1' } },
      '/price/input_usd',
      /does not belong/,
    ],
    ['an unknown unit', { price: { unit: 'hour', usd: '1' } }, '/price/unit', /one of sec, image/],
    ['an unknown resolution', { resolutions: ['3k'] }, '/resolutions/0', /one of 0\.5k, 1k/],
    ['a resolution twice', { resolutions: ['1k', '1k'] }, '/resolutions', /duplicate/],
    ['a max below zero', { max: -1 }, '/max', />= 0/],
    ['a max of part', { max: 1.5 }, '/max', /integer/],
    ['no schema', { input_schema: undefined }, '', /input_schema is missing/],
    ['no example', { example: undefined }, '', /example is missing/],
    [
      'a schema of a list',
      { input_schema: { type: 'array' } },
      '/input_schema/type',
      /must be "object"/,
    ],
    ['tokens on an image row', { context_tokens: 5 }, '/context_tokens', /does not belong/],
    [
      'both forms of upstreams',
      { upstreams: [{ model: 'x' }], upstream: 'fal' },
      '/upstream',
      /does not belong/,
    ],
    [
      'an extra of neither kind',
      { extras: [{ ...extra, equals: 1 }] },
      '/extras/0',
      /when is missing/,
    ],
    [
      'an extra of both kinds',
      { extras: [{ ...extra, per_item: 'prompt', when: 'prompt' }] },
      '/extras/0/when',
      /does not belong/,
    ],
    ['a day that does not exist', { created: '2026-02-30' }, '/created', /is not a calendar date/],
    [
      'a check on a day that does not exist',
      { checked_on: '2026-02-30' },
      '/checked_on',
      /checked_on is not a calendar date/,
    ],
    ['a task of another kind', { task: 'text-to-video' }, '/task', /needs kind video, not image/],
    ['chat as an image', { task: 'chat' }, '/task', /needs kind text/],
    [
      'an image by the second',
      { price: { unit: 'sec', usd: '1' } },
      '/price/unit',
      /priced by image, request, MP, not by sec/,
    ],
    [
      'a max in a word that bounds nothing',
      { max: 4, max_unit: 'pictures' },
      '/max_unit',
      /must be images or count for image, not pictures/,
    ],
    ['a max above the ceiling', { max: 101 }, '/max', /at most 100 images/],
    [
      'a price for a resolution that is not offered',
      { price: byResolution, resolutions: ['1k'], ...schemaWith({ resolution: {} }) },
      '/price/usd_by_resolution/2k',
      /2k, which is not in resolutions/,
    ],
    [
      'an offered resolution without a price',
      { price: byResolution, resolutions: ['1k', '2k', '4k'] },
      '/price/usd_by_resolution',
      /4k in resolutions has no price/,
    ],
    [
      'a cost of a resolution that is not offered',
      { price: byResolution, cost_usd_by_resolution: { '1k': '1', '2k': '1', '4k': '1' } },
      '/cost_usd_by_resolution/4k',
      /4k, which the row does not offer/,
    ],
    [
      'an offered resolution without a cost',
      { price: byResolution, cost_usd_by_resolution: { '1k': '1' } },
      '/cost_usd_by_resolution',
      /2k in resolutions has no cost/,
    ],
    [
      'of several upstreams one whose costs have a gap',
      {
        price: byResolution,
        upstreams: [{}, { upstream: 'fal', cost_usd_by_resolution: { '2k': '1' } }],
      },
      '/upstreams/1/cost_usd_by_resolution',
      /1k in resolutions has no cost/,
    ],
    [
      'two sorts of costs',
      { price: byResolution, cost_usd: '1', cost_usd_by_resolution: { '1k': '1', '2k': '1' } },
      '/cost_usd',
      /cost_usd is never used/,
    ],
    [
      'a price that nothing can have',
      { price: { ...byResolution, usd: '1' }, resolutions: ['1k', '2k'] },
      '/price/usd',
      /usd is never used/,
    ],
    [
      'a schema that offers what has no price',
      { price: { unit: 'image', usd_by_resolution: { '1k': '1' } } },
      '/input_schema/properties/resolution/enum',
      /allows the resolution 2k/,
    ],
    [
      'an extra on a field the schema does not know',
      { extras: [{ ...extra, per_item: 'images' }] },
      '/extras/0',
      /images is not in/,
    ],
    [
      'an extra on a field every object has',
      { extras: [{ ...extra, per_item: 'constructor' }] },
      '/extras/0',
      /constructor is not in/,
    ],
    [
      'an extra with a default of another type',
      { extras: [{ ...extra, when: 'generate_audio', equals: true, default: 'no' }] },
      '/extras/0',
      /must be a boolean/,
    ],
    ...[null, [], {}].map((value): [string, Row, string, RegExp] => [
      `an extra whose field has the schema default ${JSON.stringify(value)}`,
      {
        extras: [{ ...extra, when: 'flag', equals: true }],
        input_schema: { type: 'object', properties: { flag: { default: value } } },
        example: {},
      },
      '/extras/0',
      /must be a boolean/,
    ]),
    [
      'an extra with another default than the schema',
      { extras: [{ ...extra, when: 'generate_audio', equals: true, default: true }] },
      '/extras/0',
      /differs from the default of generate_audio/,
    ],
    [
      'a default of more than is reserved',
      schemaWith({ num_images: { default: 4 } }),
      '/input_schema/properties/num_images/default',
      /must be 1;/,
    ],
    [
      'a default resolution that is not offered',
      { price: byResolution, ...schemaWith({ resolution: { default: '4k' } }) },
      '/input_schema/properties/resolution/default',
      /must be 2k, or left out; otherwise a request without the field asks for something other/,
    ],
    [
      'a default resolution that is made for less than is reserved',
      { price: byResolution, ...schemaWith({ resolution: { default: '1k' } }) },
      '/input_schema/properties/resolution/default',
      /must be 2k, or left out; otherwise a request without the field asks for something other/,
    ],
    [
      'a default resolution that is not offered, where all cost the same',
      { resolutions: ['1k', '2k'], ...schemaWith({ resolution: { default: '4k' } }) },
      '/input_schema/properties/resolution/default',
      /one of 1k, 2k/,
    ],
    [
      'prices by a resolution that nobody can name',
      { price: byResolution, input_schema: { type: 'object' } },
      '/input_schema/properties',
      /differs by resolution, but input_schema.properties has no resolution/,
    ],
    [
      'a default of more items than are free',
      {
        extras: [{ ...extra, per_item: 'reference_image_urls', free: 1 }],
        ...schemaWith({ reference_image_urls: { default: ['a', 'b'] } }),
      },
      '/input_schema/properties/reference_image_urls/default',
      /a list of at most 1/,
    ],
    [
      'a default size beside the resolution by which pixels are priced',
      {
        price: { unit: 'MP', usd: '0.01' },
        resolutions: ['1k'],
        ...schemaWith({ resolution: {}, image_size: { default: '4096x4096' } }),
      },
      '/input_schema/properties/image_size/default',
      /must be left out/,
    ],
    [
      'a default of wider pictures than are priced',
      {
        price: { unit: 'MP', usd: '0.01' },
        resolutions: ['1080p'],
        ...schemaWith({ resolution: {}, aspect_ratio: { default: '32:9' } }),
      },
      '/input_schema/properties/aspect_ratio/default',
      /no wider than 16:9/,
    ],
    ['an example that does not fit', { example: {} }, '/example/prompt', /prompt is required/],
    [
      'an example without a price',
      { example: { prompt: 'x', num_images: -1 } },
      '/example',
      /no price: num_images must be/,
    ],
    [
      'a schema with an unknown keyword',
      { input_schema: { type: 'object', propertys: {} } },
      '/input_schema',
      /does not compile: strict mode: unknown keyword: "propertys"/,
    ],
    [
      'a schema that points elsewhere',
      schemaWith({ prompt: { $ref: 'https://example.com' } }),
      '/input_schema',
      /does not compile/,
    ],
    [
      'a pattern that explodes',
      schemaWith({ prompt: { type: 'string', pattern: '^(a+)+$' } }),
      '/input_schema/properties/prompt/pattern',
      /could make the check very slow/,
    ],
    [
      'an unbounded comparison of items',
      schemaWith({ prompt: { type: 'array', uniqueItems: true } }),
      '/input_schema/properties/prompt',
      /maxItems must be given/,
    ],
  ];
  for (const [name, change, path, message] of table) {
    test(name, () => {
      const form: Row = { ...image, ...change };
      for (const field of Object.keys(form)) if (form[field] === undefined) delete form[field];
      const { rows, problems } = parse(form);
      assert.equal(rows.length, 0);
      assert.deepEqual(
        problems.map((problem) => problem.path),
        [`/models/0${path}`],
        JSON.stringify(problems),
      );
      assert.match(problems[0]!.message, message);
      assert.ok(
        problems[0]!.message.startsWith(form.id === undefined ? 'row 1: ' : `${form.id}: `),
      );
      assert.equal(problems[0]!.file, 'test.yaml');
    });
  }

  const others: [string, Row, string, RegExp][] = [
    [
      'chat without a context',
      { ...chat, context_tokens: undefined },
      '',
      /context_tokens is missing/,
    ],
    [
      'chat without a longest reply',
      { ...chat, max_output_tokens: undefined },
      '',
      /max_output_tokens is missing/,
    ],
    [
      'chat with one price',
      { ...chat, price: { unit: '1M tokens', input_usd: '1' } },
      '/price',
      /output_usd is missing/,
    ],
    [
      'chat that costs something only from the cache',
      { ...chat, cost_cache_write_usd: '0.1', cost_cached_input_usd: '0.01' },
      '/cost_cached_input_usd',
      /cost_cached_input_usd is never used without cost_input_usd; add cost_input_usd/,
    ],
    [
      'of several upstreams of a chat one that costs something only for its replies',
      { ...chat, upstreams: [{ cost_input_usd: '1' }, { upstream: 'a', cost_output_usd: '2' }] },
      '/upstreams/1/cost_output_usd',
      /cost_output_usd is never used without cost_input_usd/,
    ],
    [
      'chat by the image',
      { ...chat, price: { unit: 'image', usd: '1' } },
      '/price/unit',
      /priced by 1M tokens, not by image/,
    ],
    [
      'video by tokens',
      { ...video, price: { unit: '1M tokens', input_usd: '1', output_usd: '1' } },
      '/price/unit',
      /priced by sec, request/,
    ],
    [
      'a default longer than the 5 reserved seconds',
      { ...video, ...schemaWith({ duration_seconds: { default: 8 } }) },
      '/input_schema/properties/duration_seconds/default',
      /at most 5/,
    ],
    [
      'seconds that are reserved and not taken',
      { ...video, ...schemaWith({ duration_seconds: { enum: [4, 6, 8] } }) },
      '/input_schema/properties/duration_seconds',
      /is priced and sent with 5, which must be one of 4, 6, 8; give duration_seconds a default/,
    ],
    [
      'a default longer than max',
      { ...video, max: 3, ...schemaWith({ duration_seconds: { default: 5 } }) },
      '/input_schema/properties/duration_seconds/default',
      /at most 3/,
    ],
    [
      'seconds that are counted as images',
      { ...video, max: 3, max_unit: 'images' },
      '/max_unit',
      /must be seconds/,
    ],
    [
      'pixels that nothing tells',
      { ...image, price: { unit: 'MP', usd: '0.01' } },
      '/example',
      /image_size must be given/,
    ],
  ];
  for (const [name, row, path, message] of others) {
    test(name, () => {
      const form = { ...row };
      for (const field of Object.keys(form)) if (form[field] === undefined) delete form[field];
      const { rows, problems } = parse(form);
      assert.equal(rows.length, 0);
      assert.deepEqual(
        problems.map((problem) => problem.path),
        [`/models/0${path}`],
        JSON.stringify(problems),
      );
      assert.match(problems[0]!.message, message);
    });
  }

  for (const content of [
    null,
    undefined,
    5,
    'models',
    [],
    {},
    { models: {} },
    { models: [null] },
  ]) {
    test(`content ${JSON.stringify(content)}`, () => {
      const { rows, problems } = parseCatalogFile(content, 'test.yaml');
      assert.equal(rows.length, 0);
      assert.ok(problems.length > 0);
    });
  }

  test('no upstream anywhere', () => {
    const { problems } = parseCatalogFile({ models: [image] }, 'test.yaml');
    assert.match(
      problems[0]!.message,
      /upstream is missing; name it in the row or once at the top/,
    );
  });

  test('one bad row is told, and the good rows come back', () => {
    const { rows, problems } = parse(image, { ...video, max: 4000 }, chat);
    assert.deepEqual(
      rows.map((row) => row.id),
      [image.id, chat.id],
    );
    assert.deepEqual(
      problems.map((problem) => problem.path),
      ['/models/1/max'],
    );
  });

  test('the list of problems ends', () => {
    const { problems } = parse(...Array.from({ length: 500 }, () => ({ id: 5 })));
    assert.equal(problems.length, 50);
  });

  test('an id is told to be taken, once for each pair of files', () => {
    const rows = [rowOf(image)];
    const apart = withoutDuplicateIds([
      { file: 'a.yaml', rows },
      { file: 'b.yaml', rows: [rowOf(video)] },
    ]);
    assert.deepEqual([apart.problems, apart.rows.length], [[], 2]);
    const { problems, rows: counting } = withoutDuplicateIds([
      { file: 'a.yaml', rows },
      { file: 'b.yaml', rows },
    ]);
    assert.deepEqual([problems.map(({ file }) => file), counting.length], [['b.yaml'], 1]);
    assert.match(
      problems[0]!.message,
      /sandbox\/canvas\/text-to-image: a\.yaml already has a row with this id/,
    );
    const first = rows[0]!;
    const namesakes = ['a/b/c', 'a/b--c'].map((id) => ({ ...first, id }));
    const named = withoutDuplicateIds([{ file: 'a.yaml', rows: namesakes }]);
    assert.deepEqual(
      named.rows.map(({ id }) => id),
      ['a/b/c'],
    );
    assert.match(named.problems[0]!.message, /a\/b--c: a\/b\/c has the same name/);
    const twice = withoutDuplicateIds([{ file: 'a.yaml', rows: [...rows, ...rows] }]);
    assert.deepEqual([twice.problems.length, twice.rows.length], [1, 1]);
    const many = Array.from({ length: 30 }, (_, i) => ({ ...rows[0]!, id: `x/${i}` }));
    const copied = withoutDuplicateIds([
      { file: 'a.yaml', rows: many },
      { file: 'b.yaml', rows: many },
      { file: 'c.yaml', rows: many },
    ]);
    const message = '30 ids already have a row in a.yaml: x/0, x/1, x/2, x/3, x/4, ….';
    assert.deepEqual(
      copied.problems,
      ['b.yaml', 'c.yaml'].map((file) => ({ file, path: '', message })),
    );
  });

  test('an id stays with the file that had it, as long as it has it', () => {
    const priced = (usd: string) => rowOf({ ...image, price: { unit: 'image', usd } });
    const row = { old: priced('1'), newer: priced('2') };
    const { id } = row.old;
    const before = new Map([[id, 'b.yaml']]);
    const stays = withoutDuplicateIds(
      [
        { file: 'a.yaml', rows: [row.newer] },
        { file: 'b.yaml', rows: [row.old] },
      ],
      before,
    );
    assert.deepEqual([stays.rows, [...stays.owners]], [[row.old], [[id, 'b.yaml']]]);
    assert.deepEqual(
      stays.problems.map(({ file }) => file),
      ['a.yaml'],
    );
    const passes = withoutDuplicateIds(
      [
        { file: 'a.yaml', rows: [row.newer] },
        { file: 'b.yaml', rows: [] },
      ],
      before,
    );
    assert.deepEqual([passes.rows, passes.problems], [[row.newer], []]);
  });
});

test('a pattern is called explosive when a repeated group can be shared out in many ways', () => {
  const explosive = [
    '(a+)+',
    '(a*)*$',
    '([a-z]+)*',
    '((a)b+){2,}',
    '(a|a)*',
    '((a|b))+',
    '(?:x+y?)+',
  ];
  const harmless = [
    '^a+$',
    '^(x|y)$',
    '^\\d{1,2}:\\d{1,2}$',
    '(a+){3}',
    '\\(a+\\)+',
    '[(]a+[)]+',
    '(a+)?',
    '^(?:a|b+)c*',
    '([a-z])+',
    '',
    '(',
    '|+',
  ];
  for (const pattern of explosive) assert.equal(isExplosive(pattern), true, pattern);
  for (const pattern of harmless) assert.equal(isExplosive(pattern), false, pattern);
});

describe('the entry of GET /models', () => {
  test('has the documented fields, with prices in plain dollars', () => {
    const entry = catalogEntry(
      rowOf({
        ...image,
        max: 4,
        price: { unit: 'image', usd_by_resolution: { '1k': '0.01', '2k': '0.025' } },
        extras: [
          { per_item: 'reference_image_urls', free: 1, add_usd: '0.002', label: 'each further' },
          { when: 'generate_audio', equals: true, add_usd: '0.05', label: 'audio' },
        ],
      }),
    );
    assert.deepEqual(entry, {
      id: image.id,
      object: 'model',
      created: Date.UTC(2026, 0, 1) / 1000,
      owned_by: 'sandbox',
      name: 'Canvas',
      status: 'live',
      description: '',
      kind: 'image',
      task: 'text-to-image',
      price: 0.025,
      unit: 'image',
      price_by_resolution: { '1k': 0.01, '2k': 0.025 },
      extras: [
        {
          label: 'each further',
          field: 'reference_image_urls',
          add_usd: 0.002,
          per_item: true,
          free: 1,
        },
        { label: 'audio', field: 'generate_audio', add_usd: 0.05, equals: true, default: false },
      ],
      max: 4,
      max_unit: 'images',
      resolutions: ['1k', '2k'],
      uncensored: false,
      median_seconds: null,
      input_schema: image.input_schema,
      example: image.example,
    });
    assert.deepEqual(JSON.parse(JSON.stringify(entry)), entry);
  });

  test('of a text row has two prices and its limits', () => {
    const entry = catalogEntry(rowOf(chat));
    assert.deepEqual(entry.price, { input: 0.1, output: 0.4 });
    assert.deepEqual([entry.context_tokens, entry.max_output_tokens], [128_000, 8192]);
  });

  test('says nothing of upstreams and costs, and lists no prices that are all the same', () => {
    const entry = catalogEntry(
      rowOf({
        ...image,
        cost_usd: '0.004',
        upstream_model: 'secret-model',
        input_defaults: { hidden: 1 },
        price: { unit: 'image', usd_by_resolution: { '1k': '0.01', '2k': '0.01' } },
      }),
    );
    assert.doesNotMatch(JSON.stringify(entry), /secret-model|0\.004|hidden/);
    assert.equal(entry.price_by_resolution, undefined);
    assert.equal(entry.context_tokens, undefined);
  });
});

describe('the live catalog', () => {
  const rows = [
    rowOf({ ...image, upstreams: [{ upstream: 'fal' }, { upstream: 'sandbox' }] }),
    rowOf(video),
    rowOf({ ...chat, upstream: 'openai' }),
  ];
  const usable = (name: string) => (name === 'sandbox' ? true : `${name} has no credentials`);

  test('leaves out what no upstream can serve, and says why', () => {
    const { models, hidden } = assembleCatalog(rows, usable);
    assert.deepEqual([...models.keys()], [image.id, video.id]);
    assert.deepEqual(hidden, [{ id: 'sandbox/chat', reason: 'openai has no credentials' }]);
  });

  test('gives a row only its usable upstreams, and leaves the row itself alone', () => {
    const model = assembleCatalog(rows, usable).models.get(image.id as string)!;
    assert.deepEqual(
      model.upstreams.map(({ upstream }) => upstream),
      ['sandbox'],
    );
    assert.equal(rows[0]!.upstreams.length, 2);
    assert.equal(model.input_schema, rows[0]!.input_schema);
  });

  test('takes the first of two rows with one id', () => {
    const twin = rowOf({ ...image, name: 'Twin' });
    const { models } = assembleCatalog([rows[0]!, twin], () => true);
    assert.equal(models.get(image.id as string)!.name, 'Canvas');
  });
});

describe('the published schema', () => {
  test('names the tasks and resolutions that the code knows', () => {
    const row = fileSchema.$defs.model.properties;
    assert.deepEqual(row.task.enum, [...tasks]);
    assert.deepEqual(fileSchema.$defs.resolution.enum, [...resolutions]);
    assert.deepEqual(Object.keys(fileSchema.$defs.byResolution.properties), [...resolutions]);
  });

  test('takes a row of each task', () => {
    for (const task of tasks) {
      const kind =
        task === 'chat' ? chat : parse({ ...image, task }).rows.length > 0 ? image : video;
      assert.deepEqual(parse({ ...kind, task }).problems, [], task);
    }
  });
});
