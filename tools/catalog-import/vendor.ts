import type { ListedPrice } from '../../server/src/core/catalog/listed-price.ts';
import type { Fraction } from '../../server/src/core/price/money.ts';
import { isObject, type Json } from '../../server/src/lib/json.ts';

export type { Json };

/** A row of a catalog file. */
export interface Row {
  row: Json;
  /** Lines of the comment above it. */
  notes: string[];
  /** The row becomes valid once the operator replaces the price. */
  unpriced: boolean;
}

/** A model without a row. */
export interface LeftOut {
  model: string;
  reason: string;
}

export type FoundModel = { model: string; row: Row } | LeftOut;

/** An image or video model as its vendor lists it. */
export interface Offer {
  /** The vendor's own name of the model, as used in calls. */
  model: string;
  /** The id of the row. */
  id: string;
  kind: 'image' | 'video';
  task: string;
  name: string;
  description: string;
  /** Null: the vendor lists no price. */
  price: ListedPrice | null;
  /** The vendor's word for the unit of the price. */
  counted: string;
  /** JSON Schema of the input with the vendor's names and without references. */
  input_schema: Json;
}

export interface Terms {
  /** Added to the cost, in percent. */
  margin: Fraction;
  /** Price of a unit in micro-USD, used if the vendor lists none; null: not given. */
  price: bigint | null;
  /** Source of the costs, with the day. */
  source: string;
  /** Today, such as 2026-11-22. */
  day: string;
}

export interface Call {
  /** Base address of the API, without a slash at its end. */
  url: string;
  key: string | null;
  options: Json;
}

/** The requested models. */
export interface ModelSelection {
  /** The names, if none is a pattern. */
  names: string[] | null;
  matches(model: string): boolean;
}

export interface Vendor {
  /** Source of the costs, in words. */
  source: string;
  /** Whether the list can be read without a key. */
  isPublic?: boolean;
  /** Whether the vendor lists no prices, so that a price may be given. */
  takesPrice?: boolean;
  /** Why models must be selected; absent: all of them may be imported. */
  needsNames?: string;
  /** Lines for the head of the file. */
  notes: string[];
  read(call: Call, wanted: ModelSelection, terms: Terms): AsyncIterable<FoundModel>;
}

const timeoutMs = 60_000;

/** The JSON object at an address; null for a 404. Throws an Error with words for the operator. */
export async function getJson(url: string, authorization: string | null): Promise<Json | null> {
  const { host, pathname } = new URL(url);
  const headers = { accept: 'application/json', ...(authorization !== null && { authorization }) };
  const reply = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) }).catch(
    (error: Error) => {
      throw new Error(`${host} does not answer: ${error.message}`, { cause: error });
    },
  );
  if (reply.status === 404) return null;
  const body: unknown = await reply.json().catch(() => null);
  if (!reply.ok || !isObject(body)) throw new Error(`${pathname} was answered ${reply.status}`);
  return body;
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The objects in a list; empty if the value is not a list. */
export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
