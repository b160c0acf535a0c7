import { addTexts } from '../../i18n.ts';

/**
 * Settings that are one line of text. The form has a field for each; its label is the word of its
 * name, its hint the word with `_hint`.
 */
export const lines = { name: { required: true, maxLength: 100 } } as const;

addTexts('keys', {
  text: [
    'Programs call the API with a key and spend the balance of this account.',
    'С ключом программа обращается к API и тратит баланс этого аккаунта.',
  ],
  create: ['Create a key', 'Создать ключ'],
  edit: ['Edit', 'Изменить'],
  edit_title: ['Edit key', 'Изменить ключ'],
  rotate: ['Rotate', 'Заменить'],
  revoke: ['Revoke', 'Отозвать'],
  actions: ['Actions for {{name}}', 'Действия с ключом {{name}}'],
  filter: ['Filter', 'Какие ключи'],
  active: ['Active', 'Действующие'],
  all: ['All', 'Все'],
  expired: ['Expired', 'Истёк'],
  revoked: ['Revoked', 'Отозван'],
  revoked_on: ['Revoked on', 'Отозван'],
  expired_on: ['Expired on', 'Истёк'],
  expires_on: ['Expires on', 'Истекает'],
  empty: ['No active keys', 'Нет действующих ключей'],
  empty_all: ['No keys yet', 'Ключей пока нет'],
  empty_text: [
    'Create a key for each program or person. Each key has its own limit and expiry, and can be revoked without affecting the others. Send the key in the header of every call:',
    'Создайте по ключу для каждой программы или человека: у каждого свой лимит и срок, и каждый можно отозвать, не задев остальных. Ключ стоит в заголовке каждого вызова:',
  ],
  studio_name: ['Studio key', 'Ключ студии'],
  studio_text: [
    "Studio runs are billed to this key. It can't be used from the API; its limits work like those of any other key.",
    'Этим ключом оплачиваются запуски в студии. Через API он не работает; лимиты действуют как у любого другого ключа.',
  ],
  models_count: [
    ['{{count}} model', '{{count}} models'],
    ['{{count}} модель', '{{count}} модели', '{{count}} моделей', '{{count}} моделей'],
  ],
  this_month: ['Spent this month', 'Потрачено за месяц'],
  no_limit: ['· no limit', '· без лимита'],
  of: ['of', 'из'],
  share: [
    '${{spent}} of ${{limit}} spent this month',
    'Потрачено за месяц: ${{spent}} из ${{limit}}',
  ],
  resets: ['Resets', 'Обнулится'],
  limit_reached: [
    'Limit reached. Paid calls return 402 until',
    'Исчерпан: платные вызовы ответят 402 до',
  ],
  never_used: ['Not used yet', 'Ещё не использован'],
  used: ['Used', 'Использован'],
  rpm_shown: [
    ['{{count}} call a minute', '{{count}} calls a minute'],
    [
      '{{count}} вызов в минуту',
      '{{count}} вызова в минуту',
      '{{count}} вызовов в минуту',
      '{{count}} вызовов в минуту',
    ],
  ],
  jobs_shown: ['{{open}} of {{jobs}} open jobs', 'Открыто заданий: {{open}} из {{jobs}}'],
  name: ['Name', 'Название'],
  name_hint: ['The person or program that uses it', 'Кто или что им пользуется'],
  scope: ['Scope', 'Назначение'],
  scope_spend: ['Run models and spend', 'Запускать модели и тратить'],
  scope_keys: ['Only manage keys', 'Только управлять ключами'],
  scope_badge: ['Manages keys', 'Управляет ключами'],
  manager_text: [
    'For a platform that gives each customer a key. It spends nothing itself, but its holder can create keys that have no limit, and spend the whole balance with them. Keep it on one server, with an expiry.',
    'Для платформы, которая выдаёт ключ каждому своему клиенту. Сам он ничего не тратит, но с ним можно создать ключи без лимита и потратить весь баланс. Держите его на одном сервере и задайте срок.',
  ],
  manager_more: ['Read about its rights', 'Подробнее о его правах'],
  manager_row: [
    'Manages keys through the API and spends nothing itself',
    'Управляет ключами через API, сам ничего не тратит',
  ],
  created_by: ['Created by “{{name}}”', 'Создан ключом «{{name}}»'],
  limit: ['Monthly limit', 'Лимит на месяц'],
  limit_hint: [
    'In USD, by calendar month in UTC. Reserved amounts count too.',
    'В USD. Считается списанное и зарезервированное; месяц календарный, по UTC.',
  ],
  limit_hint_studio: [
    'In USD, by calendar month in UTC. Reserved amounts count too. 0 stops the studio.',
    'В USD. Считается списанное и зарезервированное; месяц календарный, по UTC. 0 останавливает студию.',
  ],
  no_limit_placeholder: ['Limited by the balance only', 'Без лимита, кроме баланса'],
  end: ['Expires', 'Срок'],
  end_hint: [
    'The key stops working then. You can extend it later, even after it expired.',
    'После него ключ не действует. Срок можно сдвинуть, даже когда он вышел.',
  ],
  end_keep: ['On {{at}} (unchanged)', 'До {{at}}, как сейчас'],
  end_never: ['Never', 'Бессрочно'],
  end_days: [
    ['In {{count}} day', 'In {{count}} days'],
    ['{{count}} день', '{{count}} дня', '{{count}} дней', '{{count}} дней'],
  ],
  end_date: ['On a date', 'До выбранного дня'],
  end_last_day: ['Last day', 'Последний день'],
  models_hint: [
    'The key can use only these. Other models return 403.',
    'Только их можно использовать. Остальные ответят 403.',
  ],
  models_all: ['All models', 'Все модели'],
  rpm: ['Calls a minute', 'Вызовов в минуту'],
  open_jobs: ['Open jobs', 'Открытых заданий'],
  at_most: ['At most {{most}}', 'Не больше {{most}}'],
  ceiling: [
    'The operator set a maximum of {{most}}. You can go lower.',
    'Оператор задал не больше {{most}}. Можно снизить.',
  ],
  shown_title: ['The key “{{name}}”', 'Ключ «{{name}}»'],
  shown_once: ['Shown once', 'Показывается один раз'],
  shown_once_text: [
    'Copy it now and keep it safe. We store only its fingerprint.',
    'Скопируйте его сейчас и храните надёжно. У нас остаётся только отпечаток.',
  ],
  shown_overlap: ['The old secret works until', 'Прежний текст действует до'],
  copy_key: ['Copy key', 'Скопировать ключ'],
  kept: ["I've saved it", 'Ключ сохранён'],
  try: ['Try it', 'Попробуйте'],
  try_queue: ['This line submits a job to', 'Эта строка отправляет задание модели'],
  try_chat: ['This line asks', 'Эта строка спрашивает модель'],
  try_price: ['It costs', 'Стоит'],
  try_keys: ['This line lists the keys of the account.', 'Эта строка выводит ключи аккаунта.'],
  rotate_title: ['Rotate “{{name}}”', 'Замена ключа «{{name}}»'],
  rotate_text: [
    'Creates a new secret. The ID, the limits and this month’s spending stay, and open jobs continue.',
    'Ключ получит новый текст. Его id, лимиты и потраченное за месяц останутся, открытые задания продолжатся.',
  ],
  overlap: ['Old secret', 'Нынешний текст действует'],
  overlap_0: ['Stops at once', 'Больше нет: сразу отклоняется'],
  overlap_1: ['Works for one more hour', 'Ещё час'],
  overlap_24: ['Works for one more day', 'Ещё сутки'],
  overlap_72: ['Works for three more days', 'Ещё трое суток'],
  overlap_168: ['Works for one more week', 'Ещё неделю'],
  overlap_text: [
    'Both secrets work until then, so nothing stops while you switch. The list shows whether the old one is still used, and you can end it earlier.',
    'До этого времени действуют оба текста, и ничего не остановится, пока вы ставите новый. В списке видно, пользуются ли нынешним, и его можно отключить раньше.',
  ],
  overlap_none_text: [
    'Choose this if the secret may have leaked. Programs that still use it are refused from the next call.',
    'Подходит, если ключ мог попасть в чужие руки. Программы с ним получат отказ со следующего вызова.',
  ],
  overlap_running: [
    'The secret from before the last rotation still works. It stops at once when you rotate, instead of on',
    'Прошлая замена ещё не закончилась: текст, который был до нынешнего, отключится сразу, а не',
  ],
  overlap_until: ['The old secret works until', 'Текст до последней замены действует до'],
  overlap_unused: ['It has not been used since the rotation.', 'С тех пор им не пользовались.'],
  overlap_used: ['Last used', 'Им пользовались'],
  overlap_end: ['End now', 'Отключить сейчас'],
  revoke_title: ['Revoke “{{name}}”', 'Отзыв ключа «{{name}}»'],
  revoke_text: [
    'Programs that use {{hint}} are refused from the next call. This cannot be undone. Open jobs continue, and outputs stay with the account.',
    'Программы с ключом {{hint}} получат отказ со следующего вызова. Отменить это нельзя. Открытые задания продолжатся, а всё сделанное останется в аккаунте.',
  ],
  revoke_manager_text: [
    'Programs that use {{hint}} are refused from the next call. This cannot be undone. The keys it created keep working: revoke those too if it may have leaked.',
    'Программы с ключом {{hint}} получат отказ со следующего вызова. Отменить это нельзя. Созданные им ключи продолжат действовать: если он мог попасть в чужие руки, отзовите и их.',
  ],
});
