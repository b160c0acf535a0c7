import { addTexts } from '../../i18n.ts';

addTexts('operator_accounts', {
  text: [
    'All customer accounts. Open one to credit it, change its prices or see its activity.',
    'Все аккаунты клиентов. Откройте аккаунт, чтобы пополнить его, изменить цены или посмотреть историю.',
  ],
  find: ['Find an account', 'Найти аккаунт'],
  find_hint: [
    'Address, name, person, key, request, payment, voucher',
    'Адрес, имя, человек, ключ, запрос, платёж, ваучер',
  ],
  by: {
    person: ['Person', 'Человек'],
    key: ['Key', 'Ключ'],
    request: ['Request', 'Его запрос'],
    payment: ['Payment', 'Его платёж'],
    voucher: ['Redeemed voucher', 'Погашенный ваучер'],
  },
  all: ['All', 'Все'],
  active: ['Active', 'Активные'],
  suspended: ['Suspended', 'Приостановлены'],
  operators: ['Operators', 'Операторы'],
  status: ['Status', 'Статус'],
  month: ['Spent this month', 'Потрачено за месяц'],
  made: ['Created', 'Создан'],
  new: ['New account', 'Новый аккаунт'],
  new_title: ['Create an account', 'Создать аккаунт'],
  email: ['E-mail address', 'Эл. почта'],
  email_hint: [
    'The account is listed under this address. No mail is sent.',
    'Под этим адресом аккаунт стоит в списке. Письмо не отправляется.',
  ],
  credit: ['First credit', 'Первое пополнение'],
  credit_hint: ['In USD. Leave empty for none.', 'В USD; оставьте пустым, если не нужно.'],
  reference: ['Reference', 'Номер платежа'],
  reference_hint: [
    'An ID of the payment. Each reference is booked only once.',
    'Внешнее имя платежа. Один и тот же проводится один раз.',
  ],
  invite: [
    'Create a sign-up link for its owner',
    'Создать ссылку, по которой зарегистрируется владелец',
  ],
  create: ['Create account', 'Создать'],
  link_title: ['Sign-up link for the owner', 'Ссылка для владельца'],
  link_text: [
    'Send it to {{email}}. It is valid for 7 days and for this address only, and is shown only once.',
    'Отправьте её на {{email}}. Она действует 7 дней, только для этого адреса, и показана только сейчас.',
  ],
  open: ['Open the account', 'Открыть аккаунт'],
  none_title: ['No accounts yet', 'Аккаунтов пока нет'],
  none_text: [
    'Create the first one, or invite somebody to sign up.',
    'Создайте первый или пригласите кого-нибудь.',
  ],
  nothing_title: ['No matches', 'Ничего не подходит'],
  nothing_text: [
    'You can search by the start of a word in the name or address of an account or person; by the ID of an account, person, key, request or payment; by a payment reference; by a key as shown (fbx_ab…wxyz); or by the code, the last characters (FB-…WXYZ) or the note of a redeemed voucher.',
    'Введите начало любого слова адреса или имени аккаунта либо человека из него, id аккаунта, человека, ключа, запроса или платежа, номер платежа, ключ в показанном виде (fbx_ab…wxyz) либо код, последние знаки (FB-…WXYZ) или заметку погашенного ваучера.',
  ],
  price: ['Prices × {{factor}}', 'Цены × {{factor}}'],
  no_keys_by_api: ['No key management by API', 'Без ключей через API'],
  operator: ['Operator', 'Оператор'],
  state: {
    active: ['Active', 'Активен'],
    suspended: ['Suspended', 'Приостановлен'],
  },
});
