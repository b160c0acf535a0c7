import { addTexts } from '../../i18n.ts';

addTexts('palette', {
  title: ['Search and commands', 'Найти или сделать'],
  hint: ['A page, a model, a request ID…', 'Страница, модель, номер запроса…'],
  hint_operator: [
    'A page, a model, an account, a request ID…',
    'Страница, модель, аккаунт, номер запроса…',
  ],
  found: ['Found: {{count}}', 'Найдено: {{count}}'],
  searching: ['Searching', 'Поиск'],
  recent: ['Recent', 'Недавние'],
  requests: ['Requests', 'Запросы'],
  models: ['Models', 'Модели'],
  actions: ['Actions', 'Действия'],
  accounts: ['Accounts', 'Аккаунты'],
  open_request: ['Open request {{id}}', 'Открыть запрос {{id}}'],
  create_key: ['Create a key', 'Создать ключ'],
  top_up: ['Top up the balance', 'Пополнить баланс'],
  alerts: ['Low balance alerts', 'Предупреждения о низком балансе'],
  theme: ['Theme: {{name}}', 'Тема: {{name}}'],
  language: ['Language: {{name}}', 'Язык: {{name}}'],
  switch_account: ['Switch to {{name}}', 'Перейти в {{name}}'],
});
