import { addTexts } from '../../i18n.ts';

addTexts('requests', {
  text: [
    'All requests, newest first. Updates live.',
    'Все запросы, новые сверху. Изменения видны сразу.',
  ],
  live: {
    on: ['Live', 'Онлайн'],
    waiting: ['Connecting', 'Соединяемся'],
    paused: ['Paused', 'Пауза'],
  },
  live_text: {
    on: [
      'This page shows changes as they happen.',
      'Страница показывает изменения сразу, как они происходят.',
    ],
    waiting: ['Connecting for live updates.', 'Открываем соединение для изменений.'],
    paused: [
      'Updates resume when you return to this page.',
      'Изменения снова появятся, когда вы вернётесь на эту вкладку.',
    ],
  },
  find: ['Search requests', 'Поиск по запросам'],
  find_hint: [
    'Status, model, key, days, ID or metadata',
    'Статус, модель, ключ, дни, ID или метаданные',
  ],
  state: {
    IN_QUEUE: ['In the queue', 'В очереди'],
    IN_PROGRESS: ['Running', 'Выполняется'],
    COMPLETED: ['Completed', 'Готово'],
    FAILED: ['Failed', 'Ошибка'],
    CANCELLED: ['Cancelled', 'Отменено'],
    REFUSED: ['Refused', 'Отклонено'],
  },
  find_id: ['ID or call number', 'ID или номер вызова'],
  status: ['Status', 'Статус'],
  model: ['Model', 'Модель'],
  key: ['Key', 'Ключ'],
  person: ['Person', 'Человек'],
  metadata: ['Metadata', 'Метаданные'],
  clear: ['Clear all', 'Сбросить всё'],
  code: ['Error', 'Ошибка'],
  revoked: ['revoked', 'отозван'],
  unknown_person: ['Person who left', 'Покинувший команду'],
  unknown_key: ['Deleted key', 'Удалённый ключ'],
  column: {
    request: ['Request', 'Запрос'],
    time: ['Time', 'Время'],
    key: ['Key', 'Ключ'],
    status: ['Status', 'Статус'],
    price: ['Charged', 'Списано'],
    duration: ['Duration', 'Длительность'],
  },
  pages: ['Pages of the list', 'Страницы списка'],
  newest: ['Newest', 'Самые новые'],
  empty_title: ['No requests yet', 'Запросов пока нет'],
  empty_text: [
    'Requests from your keys and the studio appear here at once, with status, price and outputs.',
    'Всё, что вы запустите с ключом этого аккаунта или в студии, сразу появится здесь: состояние, цена и результаты.',
  ],
  empty_studio: ['Try a model', 'Попробовать модель'],
  empty_keys: ['Create a key', 'Создать ключ'],
  none_title: ['No matches', 'Ничего не подходит'],
  none_text: [
    'No request of this account matches all these filters.',
    'Ни один запрос этого аккаунта не подходит под все фильтры.',
  ],
  further_title: ['Nothing found so far', 'Пока ничего не найдено'],
  further_text: ['Looked back to {{when}}.', 'Просмотрено до {{when}}.'],
  further: ['Look further back', 'Искать дальше'],
  refused: {
    text: [
      'Calls that made no request, of the last seven days. They were charged nothing. At most 20 calls an hour are listed for one error.',
      'Вызовы, из которых запроса не вышло, за последние семь дней. За них ничего не списано. По одной ошибке показано не больше 20 в час.',
    ],
    none: ['No refused calls', 'Отклонённых вызовов нет'],
    none_text: [
      'Every call of your keys in these days made a request.',
      'Все вызовы ваших ключей за эти дни стали запросами.',
    ],
    what: ['Call', 'Вызов'],
    why: ['Why, and what to do', 'Почему и что делать'],
    no_model: ['No known model', 'Неизвестная модель'],
    call: ['Number of the call: {{id}}', 'Номер вызова: {{id}}'],
  },
  opens: ['Open the request {{id}}', 'Открыть запрос {{id}}'],
});
