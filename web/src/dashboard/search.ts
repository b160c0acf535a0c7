import { anyText, byRules } from '../address.ts';

/** The queries of the pages for keys, webhooks and documents. */

type Query = Record<string, unknown>;

export interface KeysSearch {
  show?: 'all';
  /** The form of a new key is open. */
  create?: true;
}

export const keysSearch = ({ show, create }: Query): KeysSearch => ({
  ...(show === 'all' && { show }),
  ...(create === true && { create }),
});

export const webhooksSearch = ({ failed }: Query): { failed?: true } =>
  failed === true ? { failed } : {};

export const docsSearch = byRules({ op: anyText });
