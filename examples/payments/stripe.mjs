import { credit, isSigned, need, Refusal, serve } from './credit.mjs';

/** Credits payments made with Stripe Checkout. */

const secret = need('STRIPE_WEBHOOK_SECRET');
const toleranceSeconds = 300;
/** With a slow payment method, a session is completed first and paid days later. */
const types = new Set(['checkout.session.completed', 'checkout.session.async_payment_succeeded']);

serve(async (body, headers) => {
  demandSignature(body, headers['stripe-signature'] ?? '');
  const { type, data } = JSON.parse(body);
  if (!types.has(type)) return `ignored: ${type}`;
  const { id, payment_status, metadata, currency, amount_total: cents } = data.object;
  const account_id = metadata?.farebox_account_id;
  if (!account_id) return `ignored: ${id} is not for Farebox`;
  if (payment_status !== 'paid') return `ignored: ${id} is ${payment_status}`;
  // Both events of a session have the same reference.
  return credit({ account_id, currency, cents, reference: `stripe ${id}` });
});

/** `Stripe-Signature: t=UNIX_SECONDS,v1=HEX`, with one `v1` for each secret that is active. */
function demandSignature(body, header) {
  const pairs = header.split(',').map((pair) => pair.trim().split('='));
  const time = pairs.find(([name]) => name === 't')?.[1] ?? '';
  const signatures = pairs.filter(([name]) => name === 'v1').map(([, hex]) => hex ?? '');
  if (!signatures.some((hex) => isSigned(secret, [`${time}.`, body], hex)))
    throw new Refusal(400, 'the signature is wrong');
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= toleranceSeconds))
    throw new Refusal(400, 'the webhook is too old');
}
