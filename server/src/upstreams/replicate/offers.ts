import type { Kind, Task } from '../../core/catalog/catalog.ts';
import type { LeftOut, MediaOffer, Offers } from '../../core/catalog/offer.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isObject } from '../../lib/json.ts';
import type { UpstreamTools } from '../upstream.ts';
import { createBearerApi } from '../bearer-api.ts';
import { listModels, readModel, type ModelFacts } from './models.ts';

const endings: Readonly<Record<string, Exclude<Kind, 'text'>>> = {
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  webp: 'image',
  svg: 'image',
  mp4: 'video',
  webm: 'video',
  mov: 'video',
};

/**
 * What Replicate offers, of the models that are wanted, without prices: `names`, where they are
 * given whole, else the official ones. Throws an Error with words for the operator.
 */
export async function replicateOffers(
  settings: UpstreamSettings,
  tools: UpstreamTools,
  { names, matches }: { names: string[] | null; matches: (model: string) => boolean },
  signal: AbortSignal,
): Promise<Offers> {
  const found: Offers = { offers: [], left_out: [] };
  const listed =
    names ?? (await listModels(createBearerApi(settings, tools), signal)).filter(matches);
  for (const model of listed) {
    const isName = /^[^/:]+\/[^/:]+$/.test(model);
    const facts = isName ? await readModel(settings, tools, model, signal) : null;
    const offer = facts === null ? missing(model, isName) : offerOf(facts);
    if ('reason' in offer) found.left_out.push(offer);
    else found.offers.push(offer);
  }
  return found;
}

function missing(model: string, isName: boolean): LeftOut {
  const reason = isName ? 'Replicate has no such model' : 'only owner/name tells its input';
  return { model, reason };
}

function offerOf({ id, description, version, ...facts }: ModelFacts): MediaOffer | LeftOut {
  // Only an official model is called by its name alone.
  const model = facts.is_official || version === null ? id : `${id}:${version}`;
  const { input_schema } = facts;
  if (input_schema === null) return { model: id, reason: 'its input is not told' };
  const kind = kindOf(facts.example_output);
  if (kind === null)
    return {
      model: id,
      reason: 'its example shows no picture or film, so that its kind is not known',
    };
  const texts = { name: id.slice(id.indexOf('/') + 1), description };
  const task = taskOf(kind, id, input_schema);
  return { model, id, kind, task, ...texts, price: null, input_schema };
}

/** By the first address in what its example made. */
function kindOf(output: unknown): Exclude<Kind, 'text'> | null {
  const inner = Array.isArray(output)
    ? output
    : isObject(output)
      ? Object.values(output)
      : [output];
  for (const each of inner) {
    const [, ending = ''] = /^https?:[^?#]*\.([a-z0-9]{2,4})(?:[?#]|$)/i.exec(String(each)) ?? [];
    const kind = endings[ending.toLowerCase()];
    if (kind !== undefined) return kind;
  }
  return null;
}

function taskOf(kind: Exclude<Kind, 'text'>, model: string, schema: Record<string, unknown>): Task {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  if (/upscal/.test(model)) return 'upscale';
  const needs = (word: RegExp) => required.some((name) => word.test(name));
  if (kind === 'image') return needs(/image/) ? 'edit' : 'text-to-image';
  if (needs(/video/)) return needs(/audio/) ? 'lip-sync' : 'video-edit';
  return needs(/image/) ? 'image-to-video' : 'text-to-video';
}
