import { openrouterPrice } from '../../server/src/core/catalog/vendor-price.ts';
import { objectOf } from '../../server/src/lib/json.ts';
import { headOf, roundedUp, withMargin } from './row.ts';
import {
  getJson,
  objectsIn,
  text,
  type FoundModel,
  type Json,
  type Terms,
  type Vendor,
} from './vendor.ts';

const tokensMax = 1_000_000_000;

/** Chat models of OpenRouter. */
export const openrouter: Vendor = {
  source: "OpenRouter's list of models",
  isPublic: true,
  notes: ['Each reply of OpenRouter says what it really cost.'],
  async *read({ url, key }, { matches }, terms) {
    const list = await getJson(`${url}/models`, key === null ? null : `Bearer ${key}`);
    if (!Array.isArray(list?.data)) throw new Error('its list of models could not be read');
    for (const entry of objectsIn(list.data))
      if (matches(text(entry.id))) yield found(text(entry.id), entry, terms);
  },
};

function found(model: string, entry: Json, terms: Terms): FoundModel {
  const { architecture, context_length, top_provider } = entry;
  const price = openrouterPrice(entry.pricing);
  if (typeof price === 'string') return { model, reason: price };
  const modalities = objectOf(architecture).output_modalities;
  if (Array.isArray(modalities) && !modalities.includes('text'))
    return { model, reason: 'it does not answer with text' };
  const listed = tokens(context_length);
  if (listed === null) return { model, reason: 'its context length is not listed' };
  // The host that gets most calls may have a smaller context window than the model.
  const top = objectOf(top_provider);
  const window = Math.min(listed, tokens(top.context_length) ?? listed);
  const context_tokens = Math.min(window, (price.dearer_from ?? Infinity) - 1);
  const isCut = context_tokens < window;
  const { cost, cost_output } = price;
  const input_usd = withMargin(cost, terms.margin);
  const output_usd = withMargin(cost_output, terms.margin);
  // An id must not contain the colon of a variant such as :free.
  const id = `openrouter/${model.replaceAll(':', '-')}`;
  const texts = { name: text(entry.name), description: text(entry.description) };
  const row = {
    ...headOf({ model, id, kind: 'text', task: 'chat', ...texts }, terms),
    price: { unit: '1M tokens', input_usd, output_usd },
    cost_input_usd: roundedUp(cost),
    cost_output_usd: roundedUp(cost_output),
    context_tokens,
    ...(isCut && { refuse_longer_prompts: true }),
    max_output_tokens: Math.min(tokens(top.max_completion_tokens) ?? window, window),
    // Set for all, because no list says whether a model's reasoning is hidden.
    hidden_tokens: true,
    upstream_model: model,
  };
  const notes = [`Cost: ${terms.source}.`, ...notesOf(objectOf(entry.pricing), isCut)];
  return { model, row: { row, notes, unpriced: false } };
}

function notesOf({ image, audio }: Json, isCut: boolean): string[] {
  const notes = isCut ? ['Longer prompts cost more at OpenRouter, so the row refuses them.'] : [];
  const isCharged = (value: unknown) => Number(value ?? 0) > 0;
  const media = [...(isCharged(image) ? ['images'] : []), ...(isCharged(audio) ? ['audio'] : [])];
  if (media.length > 0)
    notes.push(
      `It has extra prices for ${media.join(' and ')} in prompts, which the row does not have.`,
    );
  return notes;
}

function tokens(value: unknown): number | null {
  const isCount = Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= tokensMax;
  return isCount ? Number(value) : null;
}
