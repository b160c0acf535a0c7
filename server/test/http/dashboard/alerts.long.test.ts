/** Alerts of a low balance: one e-mail and one webhook, also if several processes check. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { adjust, deposit } from '../../kit/by-command-line.ts';
import { find } from '../../../src/db/accounts/accounts.ts';
import { createFetch, type Fetch } from '../../../src/lib/outbound/fetch.ts';
import type { Letter } from '../../../src/lib/mail.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { notifyLowBalances, type BalanceDeps } from '../../../src/worker/background/low-balance.ts';
import { inShort } from '../../kit/long.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { person, startWebService, type Person } from '../../kit/web.ts';

let service: Service;
let receiver: Server;
let webhooks: Fetch;
let url: string;
let answers = 200;
let posts: { headers: IncomingHttpHeaders; body: string }[] = [];
let letters: Letter[] = [];
let mail: BalanceDeps['mail'];

before(async () => {
  receiver = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += chunk));
    req.on('end', () => {
      posts.push({ headers: req.headers, body });
      res.writeHead(answers).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  url = `http://${host}/hook`;
  webhooks = createFetch({ guard: { allowHosts: [host] } });
  service = await startWebService({ env: { FAREBOX_TEST_PUBLIC_HOSTS: host } });
});
after(async () => {
  await service.stop();
  await webhooks.close();
  receiver.close();
});
beforeEach(() => {
  answers = 200;
  posts = [];
  letters = [];
  mail = async (letter) => void letters.push(letter);
});

const look = () =>
  notifyLowBalances({
    db: service.db,
    log: { warn: () => {} } as never,
    webhooks,
    localWebhooks: null,
    webhookMs: 5_000,
    mail: mail && ((letter) => mail!(letter)),
    origin: () => 'https://pages.example',
  });
let moves = 0;
const move = ({ account_id }: TestAccount, usd: number) => {
  const wanted = { account_id, amount: BigInt(usd * 1e6), reference: `move ${++moves}` };
  return usd > 0 ? deposit(service.db, wanted) : adjust(service.db, { ...wanted, reason: 'spent' });
};

async function watched(
  settings: object,
): Promise<{ account: TestAccount; owner: Person; call: Person['call'] }> {
  const account = await service.account({ usd: 10 });
  const owner = await person(service, { [account.account_id]: 'owner' });
  const { call } = owner.of(account.account_id);
  const wanted = { low_balance_usd_micro: '5000000', emails: true, webhook_url: null };
  const reply = await call('PUT', '/alerts', { ...wanted, ...settings });
  assert.equal(reply.status, 200, reply.text);
  return { account, owner, call };
}

describe('a balance that falls below the limit', () => {
  test('is announced once, even if many processes check, and again only after it was above', async () => {
    const { account, owner, call } = await watched({ webhook_url: url });
    const { account_id } = account;
    const payer = await person(service, { [account_id]: 'billing' });
    await person(service, { [account_id]: 'developer' });
    await look();
    assert.deepEqual([posts.length, letters.length], [0, 0]);

    await move(account, -6);
    await Promise.all(Array.from({ length: 8 }, look));
    await look();
    assert.equal(posts.length, 1);
    assert.deepEqual(letters.map(({ to }) => to).sort(), [owner.email, payer.email].sort());
    assert.match(letters[0]!.text, /has 4 USD available, less than your alert of 5 USD/);
    assert.match(letters[0]!.text, /https:\/\/pages\.example\/dashboard\/money\/top-up/);
    const told = (await call('GET', '/alerts')).body.notified_at;
    assert.ok(told);

    // Still below the limit, so there is no new alert.
    await move(account, -1);
    await look();
    assert.equal(posts.length, 1);

    await move(account, 5);
    await look();
    assert.equal((await call('GET', '/alerts')).body.notified_at, null);
    await move(account, -5);
    await look();
    assert.deepEqual([posts.length, letters.length], [2, 4]);
  });

  test('is announced with a signature that any library of the standard accepts', async () => {
    const { account } = await watched({ webhook_url: url, emails: false });
    await move(account, -5.000001);
    await look();
    const [{ headers, body }] = posts as [(typeof posts)[number]];
    const { webhook_secrets } = (await find(service.db, account.account_id))!;
    const read = new Webhook(webhook_secrets[0]!).verify(body, headers as never) as any;
    assert.deepEqual(read, {
      type: 'low_balance',
      account_id: account.account_id,
      available_usd_micro: '4999999',
      low_balance_usd_micro: '5000000',
      created_at: read.created_at,
    });
    assert.equal(letters.length, 0);
    const sent = await service.db.run(
      rawSql(
        'select cause, url, status, request_id from webhook_deliveries where account_id = $1',
        [account.account_id],
      ),
    );
    assert.deepEqual(sent, [{ cause: 'low_balance', url, status: 200, request_id: null }]);
  });

  test('is announced when mail works again, and the webhook does not come twice', async () => {
    const { account } = await watched({ webhook_url: url });
    answers = 500;
    let broken = true;
    mail = async (letter) => {
      if (broken) throw new Error('no connection');
      letters.push(letter);
    };
    await move(account, -6);
    await look();
    await look();
    assert.deepEqual([posts.length, letters.length], [1, 0]);
    const due = () =>
      service.db.run(
        rawSql(`update alerts set again_at = now() where account_id = $1 and again_at > now()`, [
          account.account_id,
        ]),
      );
    await due();
    broken = false;
    await look();
    assert.deepEqual([posts.length, letters.length], [1, 1]);
    await due();
    await look();
    assert.deepEqual([posts.length, letters.length], [1, 1]);
  });

  test('is announced by the next process if the first one died on the way', async () => {
    const { account } = await watched({ webhook_url: url });
    const { account_id } = account;
    await move(account, -6);
    await service.db.run(
      rawSql(
        `update alerts set notified_at = date_trunc('milliseconds', now()), tries = 1,
           again_at = now() - interval '1 s' where account_id = $1`,
        [account_id],
      ),
    );
    await Promise.all([look(), look(), look()]);
    assert.deepEqual([posts.length, letters.length], [1, 1]);
  });

  test('is not announced for ever if nobody can be reached', async () => {
    const { account } = await watched({});
    let tried = 0;
    mail = async () => {
      tried++;
      throw new Error('no');
    };
    await move(account, -6);
    for (let i = 0; i < 9; i++) {
      await look();
      await service.db.run(rawSql(`update alerts set again_at = now() where again_at is not null`));
    }
    assert.equal(tried, 5);
  });

  test('is not announced without a limit, or by a service without mail', async () => {
    const { account, call } = await watched({ low_balance_usd_micro: null, webhook_url: url });
    await move(account, -6);
    await look();
    assert.equal(posts.length, 0);
    mail = null;
    const wanted = { low_balance_usd_micro: '5000000', emails: true, webhook_url: null };
    assert.equal((await call('PUT', '/alerts', wanted)).status, 200);
    await look();
    assert.equal(letters.length, 0);
    // An alert that is turned off and on again is sent again.
    await call('PUT', '/alerts', { ...wanted, low_balance_usd_micro: null });
    assert.equal((await call('GET', '/alerts')).body.notified_at, null);
  });
});

describe('the settings of alerts', () => {
  test('are stored, and name the people who get e-mails', async () => {
    const { owner, call } = await watched({ webhook_url: url, emails: false });
    assert.deepEqual((await call('GET', '/alerts')).body, {
      low_balance_usd_micro: '5000000',
      emails: false,
      webhook_url: url,
      notified_at: null,
      key_limits: true,
      failing_webhooks: true,
      failing_jobs: true,
      has_mail: false,
      recipients: [owner.email],
    });
  });

  const refused = [
    ['a private address', { webhook_url: 'http://10.0.0.1/x' }, 'bad_webhook_url', 'webhook_url'],
    ['no address', { webhook_url: 'ftp://x' }, 'bad_webhook_url', 'webhook_url'],
    ['a threshold of 0', { low_balance_usd_micro: '0' }, 'bad_request', 'low_balance_usd_micro'],
    [
      'a threshold that is a number',
      { low_balance_usd_micro: 5 },
      'bad_request',
      'low_balance_usd_micro',
    ],
    ['no choice of e-mail', { emails: 'yes' }, 'bad_request', 'emails'],
  ] as const;
  for (const [what, wrong, code, param] of inShort(3, refused)) {
    test(`with ${what} are refused, and change nothing`, async () => {
      const { call } = await watched({});
      const before = (await call('GET', '/alerts')).body;
      const { has_mail: _mail, recipients: _to, notified_at: _at, ...wanted } = before;
      const reply = await call('PUT', '/alerts', { ...wanted, ...wrong });
      assert.deepEqual(
        [reply.status, reply.body.error.code, reply.body.error.param],
        [400, code, param],
      );
      assert.deepEqual((await call('GET', '/alerts')).body, before);
    });
  }

  test('are shown to all people of the account, and changed by those who pay', async () => {
    const { account, call: byOwner } = await watched({});
    const { account_id } = account;
    const before = (await byOwner('GET', '/alerts')).body;
    const wanted = { low_balance_usd_micro: null, emails: true, webhook_url: null };
    for (const role of ['read_only', 'developer'] as const) {
      const { call } = (await person(service, { [account_id]: role })).of(account_id);
      assert.equal((await call('GET', '/alerts')).status, 200);
      assert.equal((await call('PUT', '/alerts', wanted)).status, 403);
    }
    const stranger = (await person(service)).of(account_id);
    assert.equal((await stranger.call('GET', '/alerts')).status, 404);
    assert.equal((await stranger.call('PUT', '/alerts', wanted)).status, 404);
    assert.deepEqual((await byOwner('GET', '/alerts')).body, before);
  });
});
