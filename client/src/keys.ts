import { withAmounts } from './money.ts';
import { segments, type Call, type Transport, type CallRequest } from './transport.ts';
import type { ApiKey, ApiKeyList, NewApiKey } from './types.ts';

/** Keys of the account, managed by a client whose own key has the scope `keys`. */

type SettableFields = Omit<
  ApiKey,
  | ('key_id' | 'hint' | 'scope' | 'state' | 'created_at' | 'created_by' | 'revoked_at')
  | ('spent_usd_micro' | 'reserved_usd_micro' | 'resets_at' | 'open_requests' | 'last_used_at')
>;
/** The name and settings of a key. Null: unlimited, or the service's usual limit. */
export type KeySettings = {
  [Field in keyof SettableFields]?:
    | SettableFields[Field]
    | (Field extends 'expires_at' ? Date : never)
    | undefined;
};

export interface KeyFilter {
  /** Default `active`; `all`: expired and revoked ones too. */
  state?: 'active' | 'all' | undefined;
  /** Entries of one page: 1 to 100; default 50. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface Keys {
  /**
   * Creates a key; its secret is in this reply only. Sent once: if the reply is lost, look for the
   * name in the list before you try again.
   */
  create(settings: KeySettings & { name: string }, options?: Call): Promise<NewApiKey>;
  /** One page, newest first. */
  list(filter?: KeyFilter, options?: Call): Promise<ApiKeyList>;
  get(keyId: string, options?: Call): Promise<ApiKey>;
  /** Changes the given fields, from the next call of the key on. */
  change(keyId: string, settings: KeySettings, options?: Call): Promise<ApiKey>;
  /** Revokes a key for good. To revoke twice is not an error. */
  revoke(keyId: string, options?: Call): Promise<ApiKey>;
}

export function createKeys(transport: Transport): Keys {
  const ask = async <T>(wanted: Omit<CallRequest, 'path'>, path: string, call?: Call): Promise<T> =>
    withAmounts(await transport.json({ ...wanted, path: `/keys${path}` }, call));
  const at = (keyId: string) => `/${segments(keyId, 'key id')}`;
  return {
    create: (settings, call) =>
      ask({ method: 'POST', json: written(settings), repeatable: false }, '', call),
    list: ({ state, limit, cursor } = {}, call) =>
      ask({ method: 'GET', query: { state, limit, cursor }, repeatable: true }, '', call),
    get: async (keyId, call) => ask({ method: 'GET', repeatable: true }, at(keyId), call),
    change: async (keyId, settings, call) => {
      const json = written(settings);
      return ask({ method: 'PATCH', json, repeatable: true }, at(keyId), call);
    },
    revoke: async (keyId, call) => ask({ method: 'DELETE', repeatable: true }, at(keyId), call),
  };
}

/** The settings as JSON has them: JSON has no bigint. */
function written(settings: KeySettings): object {
  const { monthly_limit_usd_micro: limit } = settings;
  return { ...settings, ...(typeof limit === 'bigint' && { monthly_limit_usd_micro: `${limit}` }) };
}
