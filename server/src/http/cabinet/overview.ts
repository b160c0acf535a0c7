import type { FastifyReply } from 'fastify';
import * as accounts from '../../db/accounts.ts';
import type { Visit, WebDeps } from '../web/visit.ts';

/** GET /balance: what the account may spend, and what is reserved for open requests. */
export async function balance(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const account = await accounts.find(db, visit.account_id);
  return {
    available_usd_micro: String(account!.available_usd_micro),
    reserved_usd_micro: String(account!.reserved_usd_micro),
  };
}
