import { ApiError } from '../../core/errors.ts';
import * as chains from '../../db/deposits/chains.ts';
import { renewAddress } from '../../operations/deposits/deposit-address.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';

/** POST /deposit-addresses: a new address on this chain and all chains of its family. */
export const renew = sessionEndpoint(
  { body: s.form({ chain: s.text() }), reply: s.object({ address: s.text() }) },
  async ({ req, body }, deps) => {
    const live = deps.chains.live.find(({ chain }) => chain.name === body.chain);
    if (!live) throw new ApiError('not_found');
    // Deposits on a chain that is not read would not be noticed.
    const readable = await chains.findReadable(deps.db, [body.chain]);
    if (!readable.has(body.chain)) throw new ApiError('capacity_unavailable');
    const { address } = await renewAddress(deps.db, req.account_id, live.key);
    if (address === null) throw new ApiError('capacity_unavailable');
    return { address: live.show(address) };
  },
);
