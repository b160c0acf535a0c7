import { z } from 'zod';
import { formatUsd, type Model } from '../../index.ts';
import type { Desk } from './calls.ts';
import { answer } from './replies.ts';

const readOnly = { readOnlyHint: true, openWorldHint: false };

export const modelIdSchema = z
  .string()
  .min(1)
  .describe('The id exactly as in list_models, with its slashes.');
export const inputSchema = z
  .record(z.string(), z.unknown())
  .describe("The model's input; get_model returns its fields and an example.");

export const sessionSchema = z
  .looseObject({})
  .describe('The amount that the user allowed this server to spend.');

const modelLine = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['video', 'image', 'text']),
  task: z.string(),
  description: z.string(),
  price: z.union([z.number(), z.object({ input: z.number(), output: z.number() })]),
  unit: z
    .string()
    .describe(
      'The unit of `price`. `price` is in USD; if the model has several prices, it is the highest.',
    ),
  resolutions: z.array(z.string()),
});

/** Tools for the catalog and prices; none of them spends. */
export function addModelTools(desk: Desk): void {
  const { server, client } = desk;
  server.registerTool(
    'list_models',
    {
      title: 'List models',
      description: 'Lists or searches the image, video and text models, with their prices in USD.',
      inputSchema: {
        search: z
          .string()
          .optional()
          .describe('Words that occur in id, name, task or description.'),
        kind: z.enum(['video', 'image', 'text']).optional().describe('The kind of output.'),
        limit: z.int().min(1).max(200).default(50),
      },
      outputSchema: { models: z.array(modelLine), total: z.int() },
      annotations: readOnly,
    },
    ({ search = '', kind, limit }, { signal }) =>
      answer(async () => {
        const words = search.toLowerCase().split(/\s+/).filter(Boolean);
        const found = (await client.models.list({ signal })).filter(
          (model) =>
            (kind === undefined || model.kind === kind) &&
            words.every((word) => searchable(model).includes(word)),
        );
        return { fields: { models: found.slice(0, limit).map(lineOf), total: found.length } };
      }),
  );
  server.registerTool(
    'get_model',
    {
      title: 'Get a model',
      description: 'One model: its price, its input as a JSON Schema, and an input that works.',
      inputSchema: { model_id: modelIdSchema },
      outputSchema: z.looseObject({
        ...modelLine.shape,
        max: z.number(),
        max_unit: z.string(),
        input_schema: z.looseObject({}),
        example: z.looseObject({}),
      }),
      annotations: readOnly,
    },
    ({ model_id }, { signal }) =>
      answer(async () => ({ fields: { ...(await client.models.get(model_id, { signal })) } })),
  );
  addPrice(desk);
}

function addPrice({ server, client, budget }: Desk): void {
  server.registerTool(
    'get_price',
    {
      title: 'Get a price',
      description:
        'The price of one generation, to the millionth of a dollar. Nothing is reserved. Give ' +
        'the whole input. For a text model: input.input_tokens and input.output_tokens.',
      inputSchema: { model_id: modelIdSchema, input: inputSchema },
      outputSchema: z.looseObject({
        model_id: z.string(),
        price_usd: z.string().describe('The highest possible charge.'),
        price_usd_micro: z.string(),
        assumptions: z.looseObject({}).describe('Values assumed for missing fields.'),
        session: sessionSchema,
      }),
      annotations: readOnly,
    },
    ({ model_id, input }, { signal }) =>
      answer(async () => {
        const estimate = await client.estimate(model_id, input, { signal });
        const price_usd = formatUsd(estimate.price_usd_micro);
        return { fields: { ...estimate, price_usd, session: budget.view() } };
      }),
  );
}

function searchable({ id, name, task, description }: Model): string {
  return `${id} ${name} ${task} ${description}`.toLowerCase();
}

function lineOf(model: Model): z.infer<typeof modelLine> {
  const { id, name, kind, task, description, price, unit, resolutions } = model;
  return { id, name, kind, task, description, price, unit, resolutions };
}
