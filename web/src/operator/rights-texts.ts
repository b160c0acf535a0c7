import { addTexts } from '../i18n.ts';

addTexts('operator_rights', {
  role: {
    owner: ['Owner', 'Владелец'],
    support: ['Support', 'Поддержка'],
    read_only: ['Read only', 'Только просмотр'],
  },
  role_text: {
    owner: ['Everything', 'Всё'],
    support: [
      'Accounts, people and keys, but no money, no prices and no new keys',
      'Аккаунты, люди и ключи, но не деньги, не цены и не новые ключи',
    ],
    read_only: ['Sees everything, changes nothing', 'Видит всё, ничего не меняет'],
  },
  right: {
    read: ['seeing the console', 'просмотр консоли'],
    accounts: ['accounts and people', 'аккаунты и люди'],
    keys: ['keys', 'ключи'],
    money: ['money, prices and new keys', 'деньги, цены и новые ключи'],
    catalog: ['models, upstreams and the banner', 'модели, апстримы и объявление'],
    own: ['who runs the service', 'кто управляет сервисом'],
  },
  lacks: [
    'Your role, {{role}}, does not include this: {{right}}.',
    'Ваша роль, {{role}}, этого не включает: {{right}}.',
  ],
  limited: ['Your role is {{role}}: {{text}}.', 'Ваша роль: {{role}}. {{text}}.'],
});
