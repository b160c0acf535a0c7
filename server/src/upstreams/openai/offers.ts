import type { ChatOffer, LeftOut, Offers } from '../../core/catalog/offer.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isObject } from '../../lib/json.ts';
import type { UpstreamTools } from '../upstream.ts';
import { readList, tokenPrice } from './listing.ts';
import { optionsOf } from './options.ts';
import { createWire } from './wire.ts';

type Json = Record<string, unknown>;

const tokensMax = 1_000_000_000;

/**
 * What OpenRouter offers for chat, of the models that are wanted. Throws an Error with words for
 * the operator.
 */
export async function openrouterOffers(
  settings: UpstreamSettings,
  tools: UpstreamTools,
  wanted: (model: string) => boolean,
  signal: AbortSignal,
): Promise<Offers> {
  const wire = createWire(settings, tools, optionsOf(settings.options).base_path);
  const found: Offers = { offers: [], left_out: [] };
  for (const entry of await readList(wire, '/models', signal)) {
    const { id } = entry;
    if (typeof id !== 'string' || !wanted(id)) continue;
    const offer = offerOf(id, entry);
    if ('reason' in offer) found.left_out.push(offer);
    else found.offers.push(offer);
  }
  return found;
}

function offerOf(model: string, entry: Json): ChatOffer | LeftOut {
  const { name, description, context_length, pricing } = entry;
  const price = tokenPrice(pricing);
  if (typeof price === 'string') return { model, reason: price };
  if (!writes(entry)) return { model, reason: 'it answers with no text' };
  const top = isObject(entry.top_provider) ? entry.top_provider : {};
  const told = tokens(context_length);
  // The host that takes most of the calls may have less room than the model.
  const window = told === null ? null : Math.min(told, tokens(top.context_length) ?? told);
  if (window === null) return { model, reason: 'its window of tokens is not told' };
  const { dearer_from } = price;
  const context_tokens = dearer_from === null ? window : Math.min(window, dearer_from - 1);
  const max_output_tokens = Math.min(tokens(top.max_completion_tokens) ?? window, window);
  const is_cut = context_tokens < window;
  const notes = notesOf(entry, is_cut);
  // A variant such as :free is no part of an id.
  const id = model.replaceAll(':', '-');
  const texts = { name: text(name) || model, description: text(description) };
  const tokensOf = { context_tokens, is_cut, max_output_tokens };
  return { kind: 'text', model, id, ...texts, price, ...tokensOf, notes };
}

function writes({ architecture }: Json): boolean {
  const made = isObject(architecture) ? architecture.output_modalities : undefined;
  return !Array.isArray(made) || made.includes('text');
}

function notesOf({ pricing }: Json, isCut: boolean): string[] {
  const notes = isCut ? ['Longer prompts cost more there, so the row refuses them.'] : [];
  const { image, audio } = isObject(pricing) ? pricing : {};
  const extra = [...(charged(image) ? ['pictures'] : []), ...(charged(audio) ? ['sound'] : [])];
  if (extra.length > 0)
    notes.push(
      `It has prices of their own for ${extra.join(' and ')} in prompts, which the row has not.`,
    );
  return notes;
}

function charged(value: unknown): boolean {
  return Number(value ?? 0) > 0;
}

function tokens(value: unknown): number | null {
  const isCount = Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= tokensMax;
  return isCount ? Number(value) : null;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
