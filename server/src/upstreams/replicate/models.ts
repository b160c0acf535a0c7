import { objectOf } from '../../lib/json.ts';
import { jsonOf } from '../replies.ts';
import type { BearerApi } from '../bearer-api.ts';

/** Lists Replicate's models. Replicate does not list prices. */

/** Large, because a collection contains the examples and schemas of all its models. */
const listMaxBytes = 32 * 1024 * 1024;
const listMs = 60_000;

/** The official models, and the operator's own deployments. */
export async function listModels(api: BearerApi, signal: AbortSignal): Promise<string[]> {
  const call = { maxBytes: listMaxBytes, timeoutMs: listMs, signal };
  const [official, own] = await Promise.all([
    api.send({ ...call, path: '/collections/official' }),
    api.send({ ...call, path: '/deployments' }),
  ]);
  for (const { status } of [official, own])
    if (status !== 200) throw new Error(`the request for its models was answered with ${status}`);
  const models = namesIn(objectOf(jsonOf(official.body)).models);
  const deployments = namesIn(objectOf(jsonOf(own.body)).results);
  if (models === null || deployments === null)
    throw new Error('the request for its models was not answered with a list');
  return [...models, ...deployments.map((name) => `deployments/${name}`)];
}

/** Null if `list` is not a list. */
function namesIn(list: unknown): string[] | null {
  if (!Array.isArray(list)) return null;
  return list.flatMap((each: unknown) => {
    const { owner, name } = objectOf(each);
    return typeof owner === 'string' && typeof name === 'string' ? [`${owner}/${name}`] : [];
  });
}

/** Whether Replicate has the model; its list names only the official ones, a small part of all. */
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
  const { name: told, id } = objectOf(jsonOf(body));
  if (status === 200 && typeof (version === undefined ? told : id) === 'string') return true;
  throw new Error(
    `the request for the model ${model} was answered with ${status}, without the model`,
  );
}
