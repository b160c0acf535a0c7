/** The queries of the pages for keys and webhooks. */

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
