import { credit, isSigned, need, Refusal, serve } from './credit.mjs';

/** Credits payments made with BTCPay Server, which takes bitcoin and other coins. */

const secret = need('BTCPAY_WEBHOOK_SECRET');
const store = `${need('BTCPAY_URL')}/api/v1/stores/${need('BTCPAY_STORE_ID')}`;
const key = need('BTCPAY_API_KEY');
/** BTCPay repeats a webhook for more than an hour, with the time of the first delivery. */
const toleranceSeconds = 24 * 3600;

serve(async (body, headers) => {
  const signature = String(headers['btcpay-sig'] ?? '').replace(/^sha256=/, '');
  if (!isSigned(secret, [body], signature)) throw new Refusal(400, 'the signature is wrong');
  const { type, timestamp, invoiceId } = JSON.parse(body);
  if (!(Math.abs(Date.now() / 1000 - timestamp) <= toleranceSeconds))
    throw new Refusal(400, 'the webhook is too old');
  if (type !== 'InvoiceSettled') return `ignored: ${type}`;
  const { status, currency, amount, metadata } = await invoiceOf(invoiceId);
  const account_id = metadata?.farebox_account_id;
  if (!account_id) return `ignored: ${invoiceId} is not for Farebox`;
  if (status !== 'Settled') throw new Refusal(409, `${invoiceId} is ${status}`);
  const cents = Math.round(Number(amount) * 100);
  return credit({ account_id, currency, cents, reference: `btcpay ${invoiceId}` });
});

/** The webhook does not say how much was paid, so BTCPay is asked. */
async function invoiceOf(id) {
  const reply = await fetch(`${store}/invoices/${encodeURIComponent(id)}`, {
    headers: { authorization: `token ${key}` },
    signal: AbortSignal.timeout(10_000),
  }).catch((error) => {
    throw new Refusal(502, `BTCPay does not answer: ${error.message}`);
  });
  if (!reply.ok) throw new Refusal(502, `BTCPay answered ${reply.status} for ${id}`);
  return reply.json();
}
