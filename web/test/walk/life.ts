import { setTimeout } from 'node:timers/promises';

/** A running trial and how to enter it. */
export interface Trial {
  base_url: string;
  key: string;
  web: { url: string; password: string };
}

/** The data of an account that has been used for a while, so that its pages show something. */
export interface Life {
  account_id: string;
  image: string;
  failed: string;
  /** The deposit whose receipt is shown. */
  transfer_id: string;
  /** The path of an invitation to the account. */
  invitation: string;
}

const jobs: [string, object][] = [
  ['sandbox/canvas/text-to-image', { prompt: 'a lighthouse at dawn', resolution: '2k' }],
  ['sandbox/canvas/text-to-image', { prompt: 'a tram in the rain, at night', num_images: 2 }],
  ['sandbox/canvas/text-to-image', { prompt: 'a fox reading a newspaper' }],
  ['sandbox/film/text-to-video', { prompt: 'waves', duration_seconds: 4, resolution: '480p' }],
  ['sandbox/canvas/text-to-image', { prompt: 'a kitchen in blue and white', resolution: '1k' }],
];

/** The password of the people who sign up. */
export const password = 'a battery of horses';

export async function seed({ base_url, key, web }: Trial): Promise<Life> {
  const call = async (method: string, path: string, body?: object) => {
    const reply = await fetch(`${base_url}${path}`, {
      method,
      headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`);
    return (await reply.json()) as Record<string, string>;
  };
  const submit = async (model: string, input: object): Promise<string> => {
    const { request_id = '' } = await call('POST', `/queue/${model}`, input);
    for (let i = 0; i < 10; i++) {
      const { status = '' } = await call('GET', `/requests/${request_id}/status?wait=30`);
      if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(status)) break;
    }
    return request_id;
  };
  const failed = await submit('sandbox/canvas/text-to-image', { prompt: 'sandbox:fail' });
  const done: string[] = [];
  for (const [model, input] of jobs) done.push(await submit(model, input));
  for (const content of ['Say hello', 'Name three rivers']) {
    const messages = [{ role: 'user', content }];
    await call('POST', '/chat/completions', { model: 'sandbox/chat', messages });
  }
  const slow = { prompt: 'a slow one sandbox:slow=600' };
  await call('POST', '/queue/sandbox/canvas/text-to-image', slow);
  return { ...(await seedPages(web)), image: done[0]!, failed };
}

/** Actions that people take on the pages themselves. */
async function seedPages({ url, password: trialPassword }: Trial['web']) {
  const demo = await visit(url, 'demo@farebox.local', trialPassword);
  const [{ account_id }] = (await demo('GET', '/api/me')).accounts as [{ account_id: string }];
  const of = `/api/accounts/${account_id}`;
  for (const [name, limit] of [
    ['website', '25000000'],
    ['batch jobs', '5000000'],
    ['production_'.repeat(9), '1000000'],
  ])
    await demo('POST', `${of}/keys`, { name, monthly_limit_usd_micro: limit });
  await demo('POST', `${of}/play-deposits`, {});
  const ada = { email: 'ada@example.com', role: 'developer' };
  const invited = await demo('POST', `${of}/invitations`, ada);
  const operator = await visit(url, 'operator@farebox.local', trialPassword);
  const credit = { amount_usd_micro: '250000000', reference: 'invoice 2026-041', source: 'paid' };
  await operator('POST', `/api/operator/accounts/${account_id}/credits`, credit);
  await demo('POST', `${of}/play-deposits`);
  const transfer_id = await creditedDeposit(() => demo('GET', `${of}/v1/deposits`));
  await demo('PUT', `${of}/billed-to`, { billed_to: 'Demo Works GmbH\n20457 Hamburg\nDE 123456' });
  const voucher = { amount_usd_micro: '10000000', count: 3, note: 'for the workshop' };
  const { data } = await operator('POST', '/api/operator/vouchers', voucher);
  await demo('POST', `${of}/vouchers`, { code: (data as { code: string }[])[0]!.code });
  await operator('POST', '/api/operator/invitations', { email: 'grace@example.com' });
  for (const who of ['newcomer', 'debtor']) await signUp(url, who);
  const reader = { email: 'reader@example.com', role: 'read_only' };
  const asked = await demo('POST', `${of}/invitations`, reader);
  await signUp(url, 'reader', new URL(asked.url as string).searchParams.get('token')!);
  await operator('POST', '/api/operator/accounts', {
    email: 'somebody.with.a.rather.long.name@a-subsidiary.example.com',
    invite: false,
  });
  const late = await visit(url, 'debtor@example.com', password);
  const [debtor] = (await late('GET', '/api/me')).accounts as [{ account_id: string }];
  await operator('POST', `/api/operator/accounts/${debtor.account_id}/suspend`, {});
  const { pathname, search } = new URL(invited.url as string);
  return { account_id, transfer_id, invitation: pathname + search };
}

/** The transfer of the newest deposit, once it is credited. */
async function creditedDeposit(read: () => Promise<Record<string, unknown>>): Promise<string> {
  for (;;) {
    const { data } = (await read()) as { data: { transfer_id: string | null }[] };
    const id = data[0]?.transfer_id;
    if (id) return id;
    await setTimeout(500);
  }
}

async function signUp(url: string, name: string, token?: string): Promise<void> {
  const reply = await fetch(`${url}/api/sign-up`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ name, email: `${name}@example.com`, password, token }),
  });
  if (!reply.ok) throw new Error(await reply.text());
}

async function visit(url: string, email: string, password: string) {
  const signed = await fetch(`${url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  const cookie = signed.headers.getSetCookie().map((line) => line.split(';', 1)[0]!);
  return async (method: string, path: string, body?: object) => {
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: { origin: url, cookie: cookie.join('; '), 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`);
    return (await reply.json()) as Record<string, unknown>;
  };
}
