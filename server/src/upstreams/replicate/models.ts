import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { jsonOf } from '../replies.ts';
import { plainSchema } from '../schemas.ts';
import type { UpstreamTools } from '../upstream.ts';
import { createBearerApi, type BearerApi } from '../bearer-api.ts';

/** What Replicate tells about its models. Prices are not among it. */

/** A collection comes with the examples and schemas of all its models. */
const listMaxBytes = 32 * 1024 * 1024;
const listMs = 60_000;

type Json = Record<string, unknown>;

/** A model's own words about itself. */
export interface ModelFacts {
  /** `owner/name`. */
  id: string;
  description: string;
  /** One of those that are called without a version. */
  is_official: boolean;
  /** The newest version's hash; null where Replicate keeps it to itself. */
  version: string | null;
  /** JSON Schema of its input, in its own names, without references; null: it shows none. */
  input_schema: Json | null;
  output_schema: Json | null;
  /** The input of its example. */
  example: Json | null;
  /** What its example made: as a rule an address, or a list of them. */
  example_output: unknown;
}

/** The official models, and the operator's own deployments. */
export async function listModels(api: BearerApi, signal: AbortSignal): Promise<string[]> {
  const call = { maxBytes: listMaxBytes, timeoutMs: listMs, signal };
  const [official, own] = await Promise.all([
    api.send({ ...call, path: '/collections/official' }),
    api.send({ ...call, path: '/deployments' }),
  ]);
  for (const { status } of [official, own])
    if (status !== 200) throw new Error(`asked for its models, it answered ${status}`);
  const models = namesIn(asObject(jsonOf(official.body))?.models);
  const deployments = namesIn(asObject(jsonOf(own.body))?.results);
  if (models === null || deployments === null)
    throw new Error('asked for its models, it answered something else');
  return [...models, ...deployments.map((name) => `deployments/${name}`)];
}

/** Null where it is no list. */
function namesIn(list: unknown): string[] | null {
  if (!Array.isArray(list)) return null;
  return list.flatMap((each: unknown) => {
    const { owner, name } = asObject(each) ?? {};
    return typeof owner === 'string' && typeof name === 'string' ? [`${owner}/${name}`] : [];
  });
}

/** Whether it has the model; its list names only the official ones, which are a few of all. */
export async function hasModel(
  api: BearerApi,
  model: string,
  signal: AbortSignal,
): Promise<boolean> {
  const [name = '', version] = model.split(':');
  const room = name.startsWith('deployments/') ? '' : '/models';
  const at = version === undefined ? '' : `/versions/${encodeURIComponent(version)}`;
  const path = `${room}/${name.split('/').map(encodeURIComponent).join('/')}${at}`;
  const { status, body } = await api.send({ path, maxBytes: listMaxBytes, signal });
  if (status === 404) return false;
  const told = status === 200 ? asObject(jsonOf(body)) : null;
  if (typeof (version === undefined ? told?.name : told?.id) === 'string') return true;
  throw new Error(`asked for the model ${model}, it answered ${status} without it`);
}

/**
 * The facts of the model `owner/name`; null where there is no such model.
 *
 * @throws Error where it could not be read, in words for the operator.
 */
export async function readModel(
  settings: UpstreamSettings,
  tools: UpstreamTools,
  id: string,
  signal: AbortSignal,
): Promise<ModelFacts | null> {
  const path = `/models/${id.split('/').map(encodeURIComponent).join('/')}`;
  const api = createBearerApi(settings, tools);
  const reply = await api.send({ path, maxBytes: listMaxBytes, signal });
  if (reply.status === 404) return null;
  const model = asObject(jsonOf(reply.body));
  if (reply.status !== 200 || model === null || typeof model.name !== 'string')
    throw new Error(`asked for the model ${id}, it answered ${reply.status}`);
  const version = asObject(model.latest_version);
  const openapi = asObject(version?.openapi_schema);
  const schemas = asObject(asObject(openapi?.components)?.schemas) ?? {};
  return {
    id,
    description: typeof model.description === 'string' ? model.description : '',
    is_official: model.is_official === true,
    version: typeof version?.id === 'string' && version.id !== 'hidden' ? version.id : null,
    input_schema: plainSchema(schemas.Input, schemas),
    output_schema: plainSchema(schemas.Output, schemas),
    example: asObject(asObject(model.default_example)?.input),
    example_output: asObject(model.default_example)?.output ?? null,
  };
}

function asObject(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : null;
}
