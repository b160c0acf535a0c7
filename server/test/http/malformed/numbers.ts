import assert from 'node:assert/strict';
import type { Reply } from '../../kit/service.ts';
import { cancel, post, type Call, type Row, type World } from './row.ts';

/**
 * Fields that decide a price: taken exactly or refused by name, in an estimate and in a submit
 * alike.
 */

/** Catalog rows with the smallest and the largest prices. */
export const edges = `
  - id: fake/dear
    kind: video
    task: text-to-video
    name: The dearest
    price: { unit: sec, usd: "999999" }
    max: 0
    max_unit: seconds
    upstream_model: film
    input_schema: { type: object }
    example: {}
  - id: fake/thousandth
    kind: image
    task: text-to-image
    name: What a float cannot hold
    price: { unit: image, usd: "1.005" }
    max: 0
    max_unit: images
    upstream_model: image
    input_schema: { type: object }
    example: {}
`;

const film = { model: 'fake/film/text-to-video', rest: '"prompt":"x","resolution":"480p",' };
const never = [
  '"5"',
  '"5abc"',
  '""',
  'true',
  'false',
  '[5]',
  '[]',
  '{}',
  '-1',
  '0',
  '-0',
  '-5e-324',
  '1e308',
  '9007199254740993',
  '"Infinity"',
  '"0x5"',
  '"１"',
];
const fields = [
  {
    field: 'duration_seconds',
    ...film,
    prices: {
      // Null counts as left out.
      null: 250_000,
      '0.1': 5_000,
      '4.9999999': 250_000,
      '1e-320': 1,
      '5e-324': 1,
      '0.000001': 1,
      '0.00002': 1,
      '0.00003': 2,
      '10': 500_000,
      '1e1': 500_000,
      '9.999999999999999': 500_000,
      '5.0': 250_000,
      '0.30000000000000004': 15_001,
    },
    none: [...never, '10.000000000000002', '10.1', '11', '1e2', '4294967297'],
  },
  {
    field: 'num_images',
    model: 'fake/image',
    rest: '"prompt":"x",',
    prices: { null: 10_000, 1: 10_000, 4: 40_000, '2.0': 20_000, '3e0': 30_000, '0.1e1': 10_000 },
    none: never.concat(
      '5',
      '0.1',
      '1.5',
      '4.9999999',
      '1e-320',
      '4294967297',
      '2.0000000000000004',
    ),
  },
  {
    field: 'num_images',
    model: 'fake/thousandth',
    rest: '',
    prices: { null: 1_005_000, 1: 1_005_000, 3: 3_015_000 },
    none: [...never, '101'],
  },
  {
    field: 'duration_seconds',
    model: 'fake/dear',
    rest: '',
    prices: {},
    // One second more costs more than any price may be.
    none: ['1000.0011', '1001', '3600'],
  },
  {
    field: 'resolution',
    model: film.model,
    rest: '"prompt":"x",',
    prices: {},
    none: [
      '720',
      'true',
      '""',
      '"720P"',
      '"480p "',
      '"4k"',
      '["480p"]',
      '{"$eq":"480p"}',
      '"__proto__"',
      '"constructor"',
      '"toString"',
      '"480p\\u200b"',
    ],
  },
];

/** Rows for an estimate and for a submit of the same input. */
function both(
  model: string,
  input: string,
  rowOf: (call: Call, verb: 'estimate' | 'submit') => Row,
): Row[] {
  return [
    rowOf(post('/v1/estimate', `{"model_id":"${model}","input":${input}}`), 'estimate'),
    rowOf(post(`/v1/queue/${model}`, input), 'submit'),
  ];
}

export const refused: Row[] = [
  ...fields.flatMap(({ field, model, rest, none }) =>
    none.flatMap((text) =>
      both(model, `{${rest}"${field}":${text}}`, (call, verb) => [
        `${verb} of ${model} with ${field} ${text}`,
        call,
        ['unpriceable'],
        ({ body }) => {
          assert.equal(body.error.param, field);
          assert.match(body.error.message, /must be|the most/);
        },
      ]),
    ),
  ),
  [
    'submit of the highest price',
    post('/v1/queue/fake/dear', '{"duration_seconds":1000}'),
    ['insufficient_balance'],
    ({ body }) => assert.equal(body.error.details.required_usd_micro, '999999000000000'),
  ],
];

export const taken: Row[] = [
  ...fields.flatMap(({ field, model, rest, prices }) =>
    Object.entries(prices).flatMap(([text, price]) =>
      both(model, `{${rest}"${field}":${text}}`, (call, verb) => [
        `${verb} of ${model} with ${field} ${text}, for ${price} micro-USD`,
        call,
        [verb === 'estimate' ? 200 : 202],
        (reply, world) => assertPrice(reply, world, String(price)),
      ]),
    ),
  ),
  [
    'estimate of the highest price',
    post('/v1/estimate', '{"model_id":"fake/dear","input":{"duration_seconds":1000}}'),
    [200],
    ({ body }) => assert.equal(body.price_usd_micro, '999999000000000'),
  ],
];

async function assertPrice(reply: Reply, world: World, price: string): Promise<void> {
  assert.equal(reply.body.price_usd_micro ?? reply.body.quoted_usd_micro, price);
  if (reply.status === 202) await cancel(reply, world);
}
