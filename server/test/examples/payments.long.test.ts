import { after, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { operatorKey } from '../http/operator/world.ts';
import type { TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';

/** The examples for payments: real programs, a real service, and a fake payment service. */

let key: string;
let account: TestAccount;
/** A fake BTCPay Server, with the calls that the example makes. */
let btcpay: Server;
const invoices = new Map<string, object>();
const running: ChildProcess[] = [];

after(async () => {
  for (const each of running) each.kill();
  btcpay.close();
});
const { service } = withService();
before(async () => {
  key = (await operatorKey(service, 'payments', ['money'])).key;
  btcpay = createServer((req, res) => {
    const invoice = invoices.get(
      /^\/api\/v1\/stores\/s1\/invoices\/(\w+)$/.exec(req.url!)?.[1] ?? '',
    );
    const status = req.headers.authorization !== 'token k1' ? 401 : invoice ? 200 : 404;
    res.writeHead(status).end(JSON.stringify(invoice ?? {}));
  });
  await once(btcpay.listen(0, '127.0.0.1'), 'listening');
  addresses = { stripe: await run('stripe'), btcpay: await run('btcpay'), lost: await run('lost') };
});
beforeEach(async () => void (account = await service.account({ usd: 0 })));

type Name = 'stripe' | 'btcpay';
let addresses: Record<Name | 'lost', string>;
const secrets = { stripe: 'whsec_of_stripe', btcpay: 'of btcpay' };

/**
 * Starts a server of the example. `lost`: the Stripe server with a Farebox that does not answer.
 */
async function run(name: Name | 'lost'): Promise<string> {
  const file = name === 'lost' ? 'stripe' : name;
  const program = join(import.meta.dirname, `../../../examples/payments/${file}.mjs`);
  const { port } = btcpay.address() as { port: number };
  const child = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PORT: '0',
      FAREBOX_BASE_URL: name === 'lost' ? 'http://127.0.0.1:1/v1' : `${service.base}/v1`,
      FAREBOX_OPERATOR_KEY: key,
      AMOUNTS_USD: '10 25',
      STRIPE_WEBHOOK_SECRET: secrets.stripe,
      BTCPAY_WEBHOOK_SECRET: secrets.btcpay,
      BTCPAY_URL: `http://127.0.0.1:${port}`,
      BTCPAY_STORE_ID: 's1',
      BTCPAY_API_KEY: 'k1',
    },
  });
  running.push(child);
  const [line] = await once(child.stdout!, 'data');
  return `http://127.0.0.1:${/port (\d+)/.exec(String(line))![1]}/`;
}

interface Payment {
  id?: string;
  cents?: number;
  currency?: string;
  isPaid?: boolean;
  /** The event's type, if it is not that of a payment. */
  type?: string;
  age_seconds?: number;
  secret?: string;
  of?: string | undefined;
}

interface Webhook {
  body: string;
  headers: Record<string, string>;
}

const now = () => Math.floor(Date.now() / 1000);

const forms: Record<Name, (payment: Payment & { id: string }) => Webhook> = {
  stripe({ id, cents = 2500, currency = 'usd', isPaid = true, type, age_seconds = 0, ...rest }) {
    const object = {
      id,
      amount_total: cents,
      currency,
      payment_status: isPaid ? 'paid' : 'unpaid',
      metadata: rest.of === undefined ? {} : { farebox_account_id: rest.of },
    };
    const body = JSON.stringify({ type: type ?? 'checkout.session.completed', data: { object } });
    const time = now() - age_seconds;
    const hmac = createHmac('sha256', rest.secret ?? secrets.stripe);
    const signature = hmac.update(`${time}.${body}`).digest('hex');
    return { body, headers: { 'stripe-signature': `t=${time},v1=${signature},v0=00` } };
  },
  btcpay({ id, cents = 2500, currency = 'USD', isPaid = true, type, age_seconds = 0, ...rest }) {
    invoices.set(id, {
      amount: (cents / 100).toFixed(2),
      currency,
      status: isPaid ? 'Settled' : 'Processing',
      metadata: rest.of === undefined ? {} : { farebox_account_id: rest.of },
    });
    const timestamp = now() - age_seconds;
    const body = JSON.stringify({ type: type ?? 'InvoiceSettled', timestamp, invoiceId: id });
    const hmac = createHmac('sha256', rest.secret ?? secrets.btcpay);
    return { body, headers: { 'btcpay-sig': `sha256=${hmac.update(body).digest('hex')}` } };
  },
};

let payments = 0;
const made = (name: Name, payment: Payment = {}) =>
  forms[name]({ id: `p${++payments}`, of: account.account_id, ...payment });

async function post(address: string, { body, headers }: Webhook): Promise<number> {
  const reply = await fetch(address, { method: 'POST', headers, body });
  await reply.text();
  return reply.status;
}

async function available(): Promise<bigint> {
  return (await service.balance(account)).available;
}

const day = 24 * 3600;
/** Webhooks that credit nothing, and the status that each gets. */
const refused: Record<string, [Payment, Record<Name, number>]> = {
  'with a forged signature': [{ secret: 'another' }, { stripe: 400, btcpay: 400 }],
  'that is too old': [{ age_seconds: day + 60 }, { stripe: 400, btcpay: 400 }],
  'from the future': [{ age_seconds: -day - 60 }, { stripe: 400, btcpay: 400 }],
  'in another currency': [{ currency: 'EUR' }, { stripe: 422, btcpay: 422 }],
  'of an amount that is not sold': [{ cents: 2501 }, { stripe: 422, btcpay: 422 }],
  'of a payment that has not come': [{ isPaid: false }, { stripe: 200, btcpay: 409 }],
  'of another event': [{ type: 'charge.failed' }, { stripe: 200, btcpay: 200 }],
  'of another product': [{ of: undefined }, { stripe: 200, btcpay: 200 }],
  'for an unknown account': [{ of: 'nobody' }, { stripe: 502, btcpay: 502 }],
};

for (const name of ['stripe', 'btcpay'] as const) {
  describe(`examples/payments/${name}.mjs`, () => {
    test('credits a payment once, however often its webhook comes', async () => {
      const webhook = made(name);
      const before = await service.transfers();
      const repeats = Array.from({ length: 100 }, () => post(addresses[name], webhook));
      assert.deepEqual([...new Set(await Promise.all(repeats))], [200]);
      assert.equal(await available(), 25_000_000n);
      assert.equal(await service.transfers(), before + 1);
    });

    for (const [which, [payment, status]] of Object.entries(refused)) {
      test(`credits nothing for a webhook ${which}`, async () => {
        const before = await service.transfers();
        assert.equal(await post(addresses[name], made(name, payment)), status[name]);
        assert.equal(await available(), 0n);
        assert.equal(await service.transfers(), before);
      });
    }

    test('credits nothing for a body that was changed on its way', async () => {
      const { body, headers } = made(name);
      assert.equal(await post(addresses[name], { body: `${body} `, headers }), 400);
      assert.equal(await post(addresses[name], { body, headers: {} }), 400);
      assert.equal(await available(), 0n);
    });
  });
}

describe('examples/payments', () => {
  test('credits a slow payment once, when it has come', async () => {
    const id = 'slow';
    const later = { id, type: 'checkout.session.async_payment_succeeded' };
    assert.equal(await post(addresses.stripe, made('stripe', { id, isPaid: false })), 200);
    assert.equal(await available(), 0n);
    for (const payment of [later, later, { id }])
      assert.equal(await post(addresses.stripe, made('stripe', payment)), 200);
    assert.equal(await available(), 25_000_000n);
  });

  test('asks for a repeat while Farebox is away, and credits it then', async () => {
    const webhook = made('stripe');
    assert.equal(await post(addresses.lost, webhook), 502);
    assert.equal(await available(), 0n);
    assert.equal(await post(addresses.stripe, webhook), 200);
    assert.equal(await available(), 25_000_000n);
  });

  test('asks for a repeat while BTCPay does not know the invoice', async () => {
    const webhook = made('btcpay', { id: 'unknown' });
    invoices.delete('unknown');
    assert.equal(await post(addresses.btcpay, webhook), 502);
    assert.equal(await available(), 0n);
  });
});
