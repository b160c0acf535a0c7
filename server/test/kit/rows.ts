/** Catalogs of tests. A row is written as JSON, which is YAML too. */

type Row = Record<string, unknown>;

/** An image model: one cent an image. */
export function imageRow(id: string, more: Row): Row {
  return {
    id,
    kind: 'image',
    task: 'text-to-image',
    name: 'An image',
    price: { unit: 'image', usd: '0.01' },
    max: 4,
    input_schema: {
      type: 'object',
      properties: { prompt: { type: 'string' } },
      required: ['prompt'],
    },
    example: { prompt: 'a dog' },
    ...more,
  };
}

/** A text model: a dollar in, two out. */
export function chatRow(id: string, more: Row): Row {
  return {
    id,
    kind: 'text',
    task: 'chat',
    name: 'A chat',
    price: { unit: '1M tokens', input_usd: '1', output_usd: '2' },
    max: 4096,
    max_unit: 'tokens',
    context_tokens: 100_000,
    max_output_tokens: 8192,
    ...more,
  };
}

/** Rows to append to a catalog that ends in rows. */
export const further = (...rows: Row[]): string =>
  rows.map((row) => `  - ${JSON.stringify(row)}\n`).join('');

/** A catalog of these rows, each of which names its upstreams. */
export const catalogOf = (...rows: Row[]): string => `owned_by: test\nmodels:\n${further(...rows)}`;
