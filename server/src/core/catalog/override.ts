import type { Model } from './catalog.ts';
import { priceFault, withPrice, type SetPrice } from './set-price.ts';
import { withRoutes, type SetRoute } from './set-routes.ts';

/** An operator's changes of a row of the catalog files. */
export interface Override {
  /** Set while the model is not sold, with the operator's words to customers. */
  stopped?: { note: string | null };
  price?: SetPrice;
  upstreams?: readonly SetRoute[];
}

/** By model id. */
export type Overrides = ReadonlyMap<string, Override>;

/**
 * The row with the operator's changes. A price or routes that the row cannot have since its file
 * has changed are left out; `unfit` names them.
 */
export function withOverride(row: Model, own: Override = {}): Model {
  if (Object.keys(own).length === 0) return row;
  const left = unfit(row, own);
  const { stopped, price, upstreams } = own;
  return Object.freeze({
    ...row,
    ...(stopped && { stopped }),
    ...(price && !left.includes('price') && { price: withPrice(row.price, price) }),
    ...(upstreams &&
      !left.includes('upstreams') && { upstreams: withRoutes(row.upstreams, upstreams) }),
  });
}

export const overridable = ['price', 'upstreams'] as const;

/** The changes that the row cannot have now. */
export function unfit(row: Model, { price, upstreams }: Override): (typeof overridable)[number][] {
  return [
    ...(price && priceFault(row, price) !== null ? (['price'] as const) : []),
    ...(upstreams && withRoutes(row.upstreams, upstreams).length === 0
      ? (['upstreams'] as const)
      : []),
  ];
}
