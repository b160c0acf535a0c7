import { addTexts } from '../../i18n.ts';

addTexts('operator_requests', {
  text: [
    'Requests of all accounts, newest first, with your cost.',
    'Запросы всех аккаунтов, новые сверху, с вашей себестоимостью.',
  ],
  export: ['Export CSV', 'Скачать CSV'],
  find: ['Search requests', 'Поиск по запросам'],
  find_hint: [
    'Status, account, model, upstream, days or ID',
    'Статус, аккаунт, модель, апстрим, дни или ID',
  ],
  call_id: ['ID or call number', 'ID или номер вызова'],
  status: ['Status', 'Статус'],
  error: ['Problem', 'Ошибка'],
  kind: ['Kind', 'Вид'],
  key: ['Key ID', 'ID ключа'],
  cost: ['Cost', 'Себестоимость'],
  time: ['Time', 'Время'],
  unknown: ['unknown', 'неизвестна'],
  none_title: ['No matches', 'Ничего не подходит'],
  none_text: [
    'No request matches all these filters.',
    'Ни один запрос не подходит под все фильтры.',
  ],
  look_further: [
    'None among the newest requests. “Show more” searches further back.',
    'Среди самых новых таких нет. «Показать ещё» посмотрит дальше.',
  ],
  empty_title: ['No requests yet', 'Запросов пока нет'],
  empty_text: [
    'Requests appear here as soon as somebody makes one.',
    'Запросы появятся здесь, как только их кто-нибудь сделает.',
  ],
});
