import { addTexts } from '../../i18n.ts';

addTexts('operator_keys', {
  text: [
    'Keys with which your own programs use the operator’s API: to create accounts, credit payments and read what was used.',
    'Ключи, с которыми ваши программы работают через API оператора: создают аккаунты, проводят платежи, читают расход.',
  ],
  new: ['New operator key', 'Новый ключ оператора'],
  name: ['Name', 'Название'],
  name_hint: [
    'The program that uses the key. The operator log shows this name.',
    'Какая программа им пользуется; видно в журнале оператора.',
  ],
  scopes: ['Scopes', 'Права'],
  scopes_hint: ['Give no more than the program needs.', 'Давайте не больше, чем нужно программе.'],
  scope: {
    read: ['Read', 'Чтение'],
    accounts: ['Accounts', 'Аккаунты'],
    keys: ['Keys', 'Ключи'],
    money: ['Money', 'Деньги'],
    catalog: ['Catalog', 'Каталог'],
  },
  scope_hint: {
    read: ['See all that operators see, check the books', 'Видеть всё, проверять книги'],
    accounts: ['Manage accounts, invite people', 'Управлять аккаунтами, приглашать людей'],
    keys: [
      'Create, limit and revoke keys of accounts',
      'Создавать, ограничивать и отзывать ключи аккаунтов',
    ],
    money: [
      'Credit accounts, correct balances, cancel and refund requests, decide on deposits and unknown costs',
      'Пополнять аккаунты, исправлять балансы, отменять запросы и возвращать за них деньги, решать о депозитах и неизвестных расходах',
    ],
    catalog: ['Stop models; test and resume upstreams', 'Останавливать модели, снимать паузы'],
  },
  create: ['Create operator key', 'Создать ключ'],
  made_title: ['The key is shown only once', 'Ключ показан только сейчас'],
  made_text: [
    'We store only its fingerprint. Copy the key before you close this.',
    'Хранится лишь его отпечаток. Скопируйте ключ, прежде чем закрыть.',
  ],
  key: ['Operator key', 'Ключ оператора'],
  done: ["I've saved it", 'Я его сохранил'],
  state: ['State', 'Состояние'],
  active: ['Active', 'Действует'],
  used: ['used', 'вызван'],
  unused: ['not used yet', 'ещё не вызывался'],
  revoked: ['Revoked', 'Отозван'],
  by: ['Created by', 'Кто создал'],
  maker_left: ['not an operator now', 'больше не оператор'],
  made: ['Created', 'Создан'],
  revoke: ['Revoke', 'Отозвать'],
  revoke_title: ['Revoke this operator key?', 'Отозвать этот ключ оператора?'],
  revoke_text: [
    'Its next call is refused. This cannot be undone.',
    'Следующий вызов с ним получит отказ. Отменить это нельзя.',
  ],
  revoked_now: ['Operator key revoked.', 'Ключ оператора отозван.'],
  none_title: ['No operator keys yet', 'Ключей оператора пока нет'],
  none_text: [
    'Create one for a program of yours, such as a payment system that credits accounts.',
    'Создайте ключ для своей программы, например для платёжной системы.',
  ],
});
