/** Refusals of the service have Russian texts, with their values. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createVouchers, voidVoucher } from '../../server/test/kit/by-command-line.ts';
import { inRussian, sentences } from '../src/texts/russian.ts';
import { errors, failures } from '../../server/src/core/errors.ts';
import { reasons } from '../../server/src/core/reasons.ts';
import { faults } from '../../server/src/lib/outbound/fetch-error.ts';
import { limitKey } from '../../server/test/kit/keys.ts';
import {
  before,
  operatorOf,
  person,
  stranger,
  withWebService,
  type Answer,
  type Person,
} from '../../server/test/kit/web.ts';

const catalogue = [errors, failures, faults].flatMap((each) => Object.keys(each));

/** Parts that stay as they are in Russian texts: formats, fields, commands. */
const names = /\b(http|https|base64|data|id|role|true|false|null|webhook_url|running|on_cancel)\b/g;
/** For example `/v1/models`, `PDF`, `Idempotency-Key`, `2027-01-31T00:00:00.000Z`. */
const signs = /\S*[\d/]\S*|\b[A-Z][a-z]+-[A-Z][a-z]+|\b[A-Z][A-Z-]+\b|«(voucher|chain):»/g;

function assertRussian(text: string | null, about: string): void {
  assert.match(text ?? '', /[а-я]{3}/, about);
  assert.doesNotMatch(text!.replaceAll(signs, ' ').replaceAll(names, ' '), /[a-z]{2}/i, about);
}

describe('in Russian there is a sentence', () => {
  test('for every code and every reason of the catalogue, and for nothing else', () => {
    const known = ['unreachable', 'field', ...catalogue, ...reasons];
    assert.deepEqual(Object.keys(sentences).toSorted(), known.toSorted());
  });

  test('with no word of another language', () => {
    for (const form of Object.values(sentences).flat())
      assertRussian(form.replaceAll(/\{\w+\}/g, '7'), form);
  });

  test('for every code without any details', () => {
    for (const code of catalogue) assertRussian(inRussian({ code, message: '7' }), code);
  });

  test('but none for codes of a newer service', () => {
    assert.equal(inRussian({ code: 'new', message: 'New.', details: { reason: 'newer' } }), null);
    const details = { reason: 'newer' };
    assert.equal(
      inRussian({ code: 'not_found', message: 'Gone.', details }),
      'В этом аккаунте такого нет.',
    );
  });

  test("around a model's own words, which stay as they are", () => {
    assert.equal(
      inRussian({ code: 'upstream_rejected', message: 'NSFW content (code 7).' }),
      'Модель отклонила ввод: «NSFW content (code 7).»',
    );
    assert.equal(
      inRussian({ code: 'bad_request', message: 'The body ended early.' }),
      'Запрос не принят: «The body ended early.»',
    );
  });
});

test('the rule of a value names its limits', () => {
  const told: [object, string][] = [
    [{ type: 'integer', minimum: 1, maximum: 100 }, 'целое число от 1 до 100'],
    [{ type: 'number', exclusive_minimum: 0, maximum: 9.5 }, 'число больше 0 и не больше 9,5'],
    [{ type: 'string', one_of: ['1k', '2k'] }, 'одно из: 1k, 2k'],
    [{ type: 'string', min_length: 1, max_length: 64 }, 'текст длиной от 1 до 64 знаков'],
    [{ max_length: 64 }, 'длиной не больше 64 знаков'],
    [{ type: 'boolean' }, 'true или false'],
    [{ type: 'string', format: 'usd_micro' }, 'целое число микродолларов'],
  ];
  for (const [details, rule] of told) {
    const error = { code: 'bad_request', message: 'x', param: 'size', details: { ...details } };
    assert.equal(inRussian(error), `size: ожидается ${rule}.`);
  }
});

describe('the calls of the pages', () => {
  let owner: Person;
  let operator: Person;
  const { service, account } = withWebService({
    env: { FAREBOX_RPM: '600' },
    account: { usd: 0.005 },
  });
  before(async () => {
    owner = await person(service, { [account.account_id]: 'owner' });
    operator = await operatorOf(service);
  });

  const mine = (method: string, path: string, body?: object) =>
    owner.of(account.account_id).call(method, path, body);
  const act = (method: string, path: string, body: object = {}) =>
    operator.call(method, `/api/operator${path}`, body);
  const assertTold = ({ body, text }: Answer, russian: string) => {
    assert.ok(body?.error, text);
    assert.equal(inRussian(body.error)?.replaceAll('\u00a0', ' '), russian, text);
  };

  test('about keys are refused in Russian', async () => {
    const key = await mine('POST', '/keys', { name: 'first' });
    const { key_id } = key.body;
    const told: [object, string][] = [
      [{ name: 'a', rpm: 601 }, 'rpm: не больше 600. За большим обратитесь к оператору.'],
      [{ name: 'a', rpm: 0 }, 'rpm: ожидается целое число от 1 до 1 000 000.'],
      [{ name: '\u200b' }, 'В имени должно быть от 1 до 100 знаков в одну строку, без невидимых.'],
      [{ name: 'a', expires_at: '2020-01-01T00:00:00.000Z' }, 'Срок должен быть в будущем.'],
      [{ name: 'a', models: ['none/such'] }, 'Модели none/such нет.'],
      [
        { name: 'a', monthly_limit_usd_micro: '-1' },
        'monthly_limit_usd_micro: ожидается целое число микродолларов.',
      ],
    ];
    for (const [body, russian] of told) assertTold(await mine('POST', '/keys', body), russian);
    const limits = { rpm: 60, monthly_limit_usd_micro: 2_500_000n };
    await limitKey(service.db, key_id, limits);
    assertTold(
      await mine('PATCH', `/keys/${key_id}`, { rpm: 61 }),
      'Оператор ограничил rpm значением 60: его можно снизить, но не поднять и не убрать.',
    );
    assertTold(
      await mine('PATCH', `/keys/${key_id}`, { monthly_limit_usd_micro: null }),
      'Оператор ограничил monthly_limit_usd_micro значением 2.5 USD: его можно снизить, но не поднять и не убрать.',
    );
    assert.equal((await mine('DELETE', `/keys/${key_id}`)).status, 200);
    const gone = 'Ключ отозван, изменить его нельзя. Создайте другой.';
    assertTold(await mine('DELETE', `/keys/${key_id}`), gone);
    assertTold(await mine('PATCH', `/keys/${key_id}`, { name: 'again' }), gone);
  });

  test('about vouchers and webhooks too', async () => {
    const wanted = { amount: 1_000_000n, count: 2, expires_at: null, note: null };
    const [voided, redeemed] = await createVouchers(service.db, wanted);
    await voidVoucher(service.db, voided!.id);
    const other = await service.account();
    const another = await person(service, { [other.account_id]: 'owner' });
    const body = { code: redeemed!.code };
    assert.equal((await another.of(other.account_id).call('POST', '/vouchers', body)).status, 200);
    const told: [string, string][] = [
      [
        'FB-XXXX',
        'Это не код ваучера, или в нём ошибка. Он выглядит так: FB-XXXX-XXXX-XXXX-XXXX-XXXX.',
      ],
      [voided!.code, 'Оператор отозвал этот ваучер.'],
      [redeemed!.code, 'Этот ваучер уже использован.'],
    ];
    for (const [code, russian] of told)
      assertTold(await mine('POST', '/vouchers', { code }), russian);
    assertTold(
      await mine('POST', '/webhooks/test', { url: 'https://10.0.0.1/hook' }),
      'url: нужен полный публичный адрес (http, https) без пробелов, имени пользователя и пароля.',
    );
    assertTold(
      await mine('POST', '/webhooks/retire'),
      'Действует только один секрет, он остаётся. Сначала создайте другой.',
    );
    const { body: sent } = await mine('POST', '/webhooks/test', {
      url: 'https://nobody.example.com/',
    });
    assert.equal(inRussian({ code: sent.fault, message: sent.error }), 'Имя сервера не найдено');
  });

  test('about people, by their role and address', async () => {
    const { account_id } = account;
    const reader = await person(service, { [account_id]: 'read_only' });
    assertTold(
      await reader.of(account_id).call('POST', '/keys', { name: 'a' }),
      'Ваша роль (read_only) этого не позволяет.',
    );
    assertTold(
      await mine('POST', '/invitations', { email: reader.email, role: 'billing' }),
      `${reader.email} уже в этом аккаунте.`,
    );
    assertTold(
      await mine('PATCH', `/members/${owner.id}`, { role: 'billing' }),
      'В аккаунте должен остаться хотя бы один владелец. Сначала назначьте другого.',
    );
    assertTold(await mine('DELETE', '/invitations/none'), 'Приглашение уже принято или отозвано.');
    assertTold(await stranger(service).call('GET', '/api/me'), 'Сначала войдите.');
    assertTold(await mine('GET', '/requests/none'), 'В этом аккаунте такого нет.');
  });

  test('of the studio, with the field and its limits', async () => {
    const told: [object, string][] = [
      [{ prompt: 'a', num_images: 99 }, 'num_images: ожидается целое число от 1 до 4.'],
      [{ num_images: 1 }, 'Ввод не подходит модели, поле prompt. Это поле нужно заполнить.'],
      [{ prompt: 7 }, 'Ввод не подходит модели, поле prompt. Ожидается текст.'],
      [
        { prompt: 'a cat' },
        'Нужен резерв $0.01, а доступно $0.005. Пополните баланс и отправьте запрос снова.',
      ],
    ];
    for (const [body, russian] of told)
      assertTold(await mine('POST', '/v1/queue/fake/image', body), russian);
    assertTold(
      await mine('POST', '/v1/queue/fake/imag', {}),
      'Такой модели нет. Может быть, fake/image?',
    );
  });

  test('of the console', async () => {
    const at = `/accounts/${account.account_id}`;
    const booked = { amount_usd_micro: '1000', reference: 'once', source: 'paid' };
    assert.equal((await act('POST', `${at}/credits`, booked)).status, 201);
    const told: [string, string, object, string][] = [
      [
        'POST',
        `${at}/credits`,
        { ...booked, amount_usd_micro: '7' },
        'Платёж с номером «once» уже проведён для другого.',
      ],
      [
        'POST',
        `${at}/adjustments`,
        { amount_usd_micro: '-9000000', reference: 'fix', reason: 'a' },
        'На аккаунте столько не доступно. Разрешите долг или возьмите меньше.',
      ],
      [
        'POST',
        '/accounts',
        { email: 'nobody', invite: false },
        'Такой адрес почты использовать нельзя. Нужны имя из букв одной письменности, @ и домен, без пробелов и невидимых знаков.',
      ],
      [
        'POST',
        '/accounts',
        { email: account.email, invite: false },
        `Адрес ${account.email} уже занят.`,
      ],
      ['PUT', `/accounts/${operator.id}/price`, { price_ppm: 1 }, 'В этом аккаунте такого нет.'],
    ];
    for (const [method, path, body, russian] of told)
      assertTold(await act(method, path, body), russian);
    assert.equal((await act('POST', `${at}/suspend`)).status, 200);
    assertTold(
      await mine('POST', '/keys', { name: 'a' }),
      'Аккаунт приостановлен. Обратитесь к оператору.',
    );
    assert.equal((await act('POST', `${at}/resume`)).status, 200);
  });
});
