import { createHmac } from 'node:crypto';
import * as twoFactors from '../../db/accounts/two-factors.ts';
import type { Database } from '../../lib/sql/sql.ts';

/**
 * A code of an authenticator app works once. The sign-in library would take it for as long as it is
 * valid, so somebody who saw it could use it too.
 */

const stepMs = 30_000;
/**
 * One step more each way than the library takes, since the library looks at the clock a little
 * later.
 */
const stepsAround = 2;

/** Runs before the library checks a code; a used code is refused like a wrong code. */
export async function codesOnce(db: Database) {
  const [{ APIError, createAuthMiddleware, getSessionFromCtx }, { symmetricDecrypt }] =
    await Promise.all([import('better-auth/api'), import('better-auth/crypto')]);
  return createAuthMiddleware(async (ctx) => {
    const code: unknown = ctx.body?.code;
    if (ctx.path !== '/two-factor/verify-totp' || typeof code !== 'string') return;
    const { context } = ctx;
    const waiting = async () => {
      const { name } = context.createAuthCookie('two_factor');
      const step = await ctx.getSignedCookie(name, context.secret);
      return step ? (await context.internalAdapter.findVerificationValue(step))?.value : null;
    };
    const personId = (await getSessionFromCtx(ctx))?.user.id ?? (await waiting());
    const data = personId ? await twoFactors.findSecret(db, personId) : null;
    if (!personId || data === null) return;
    const secret = await symmetricDecrypt({ key: context.secretConfig, data });
    const step = stepOf(secret, code, Date.now());
    if (step === null || (await twoFactors.useStep(db, personId, step))) return;
    throw new APIError('UNAUTHORIZED', { code: 'INVALID_CODE', message: 'Invalid code' });
  });
}

/**
 * The 30-second step since 1970 in which the app shows this code; null if it is not a current code.
 */
function stepOf(secret: string, code: string, now: number): number | null {
  const current = Math.floor(now / stepMs);
  for (let step = current + stepsAround; step >= current - stepsAround; step--)
    if (codeAt(secret, step) === code) return step;
  return null;
}

/** RFC 6238: six digits, HMAC-SHA-1. */
function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const value = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fff_ffff;
  return String(value % 1_000_000).padStart(6, '0');
}
