/** A model as its upstream offers it: what a row of the catalog can be made from. */

import type { Kind, Task } from './catalog.ts';
import type { ListedPrice } from './listed-price.ts';

interface OfferBase {
  /** The upstream's own name of the model. */
  model: string;
  /** What the row's id is made from. */
  id: string;
  name: string;
  description: string;
  price: ListedPrice | null;
}

export interface ChatOffer extends OfferBase {
  kind: 'text';
  context_tokens: number;
  /** The model takes longer prompts at another price. */
  is_cut: boolean;
  max_output_tokens: number;
  /** What a reader of the row should know. */
  notes: string[];
}

export interface MediaOffer extends OfferBase {
  kind: Exclude<Kind, 'text'>;
  task: Task;
  /** JSON Schema of its input in the upstream's own names, without references. */
  input_schema: Record<string, unknown>;
}

export type Offer = ChatOffer | MediaOffer;

/** A model that no row can be made from, and why, in words. */
export interface LeftOut {
  model: string;
  reason: string;
}

export interface Offers {
  offers: Offer[];
  left_out: LeftOut[];
}
