/** Stand-ins of upstreams, and a place whose catalog files define these upstreams. */
import fs from 'node:fs';
import path from 'node:path';
import { fakeFal } from '../upstreams/fakes/fal.ts';
import { fakeOpenai } from '../upstreams/fakes/openai.ts';
import { fakeReplicate } from '../upstreams/fakes/replicate.ts';
import { later, type Cleanup } from '../db/embedded-kit.ts';
import { placeFor, type Place } from './cli.ts';

export async function standIns(t: Cleanup) {
  const fal = await fakeFal();
  const router = await fakeOpenai('openrouter');
  const replicate = await fakeReplicate();
  for (const fake of [fal, router, replicate]) later(t, () => fake.close());
  return { fal, router, replicate };
}

/** Address and key of each stand-in. */
type StandIns = Record<keyof Awaited<ReturnType<typeof standIns>>, { url: string; key: string }>;

/** A place whose catalog has only the given rows, by upstream. */
export function placeBefore(
  t: Cleanup,
  { fal, router, replicate }: StandIns,
  rows: Rows = {},
): Place {
  const place = placeFor(t, {
    FAL_KEY: fal.key,
    OPENROUTER_API_KEY: router.key,
    REPLICATE_API_TOKEN: replicate.key,
  });
  const write = (name: string, definition: string, own = '') => {
    const models = own === '' ? 'models: []' : `models:\n${own}`;
    writeFile(place, `${name}.yaml`, `upstream: { name: ${name}, ${definition} }\n${models}\n`);
  };
  const options = `{ api_url: "${fal.url}/v1", rest_url: "${fal.url}" }`;
  write('fal', `adapter: fal, url: "${fal.url}", key_from: FAL_KEY, options: ${options}`, rows.fal);
  const router_options = '{ check_path: /key, videos: openrouter }';
  write(
    'openrouter',
    `adapter: openai, url: "${router.url}", key_from: OPENROUTER_API_KEY, options: ${router_options}`,
    rows.openrouter,
  );
  write(
    'replicate',
    `adapter: replicate, url: "${replicate.url}", key_from: REPLICATE_API_TOKEN`,
    rows.replicate,
  );
  return place;
}

interface Rows {
  fal?: string;
  openrouter?: string;
  replicate?: string;
}

function writeFile(place: Place, name: string, text: string): void {
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, name), text);
}

/** A row of an image model, as a line of YAML. */
export function imageRow(id: string, model: string, usd = '0.05', unit = 'image'): string {
  const input_schema =
    '{ type: object, required: [prompt], properties: { prompt: { type: string } } }';
  return `  - { id: ${id}, kind: image, task: text-to-image, name: ${id}, upstream_model: "${model}",
      price: { unit: ${unit}, usd: "${usd}" }, max: 1, input_schema: ${input_schema}, example: { prompt: hi } }`;
}

/** A row of a chat model. */
export function chatRow(id: string, model: string, input: string, output: string): string {
  return `  - { id: ${id}, kind: text, task: chat, name: ${id}, upstream_model: "${model}",
      price: { unit: 1M tokens, input_usd: "${input}", output_usd: "${output}" },
      context_tokens: 8192, max_output_tokens: 1024 }`;
}
