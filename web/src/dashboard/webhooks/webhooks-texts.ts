import { addTexts } from '../../i18n.ts';

addTexts('webhooks', {
  text: [
    'Set webhook_url on a request and we send a signed POST when it finishes. To confirm a notification, fetch the result with the response call.',
    'Укажите webhook_url в запросе, и о его завершении туда придёт один подписанный POST. Подтвердите его вызовом response.',
  ],
  secrets: ['Signing secret', 'Секрет подписи'],
  secrets_text: [
    'Notifications are signed per the Standard Webhooks spec. Any of its libraries verifies them with this secret.',
    'Каждое уведомление подписано по стандарту Standard Webhooks. Любая из их библиотек проверит его этим секретом.',
  ],
  secret_hidden: ['Your role cannot see the whole secret.', 'С вашей ролью он не виден целиком.'],
  newer: ['New secret', 'Новый секрет'],
  older: ['Old secret', 'Прежний секрет'],
  both: [
    'Both secrets sign until you retire the old one. Use the new one where you verify signatures, then retire the old one.',
    'Подписывают оба, пока вы не отзовёте прежний. Поставьте новый туда, где проверяете, затем отзовите прежний.',
  ],
  show: ['Show secret', 'Показать секрет'],
  hide: ['Hide secret', 'Скрыть секрет'],
  rotate: ['Rotate secret', 'Заменить секрет'],
  retire: ['Retire old secret', 'Отозвать прежний'],
  retire_title: ['Retire the old secret?', 'Отозвать прежний секрет?'],
  retire_text: [
    'From the next notification, only the new secret signs. Receivers that still verify with the old one will refuse the notification.',
    'Со следующего уведомления подписывает только новый секрет. Получатели, которые проверяют прежним, отклонят уведомление.',
  ],
  test: ['Send a test', 'Отправить пробу'],
  test_text: [
    'Sends a signed example to your URL and shows the answer.',
    'Отправляет подписанный пример на ваш адрес и показывает ответ.',
  ],
  test_ok: [
    'Delivered: your receiver answered {{status}} after {{ms}} ms.',
    'Принято: получатель ответил {{status}} через {{ms}} мс.',
  ],
  test_bad: ['Failed: {{error}} (after {{ms}} ms).', 'Не принято: {{error}} (через {{ms}} мс).'],
  deliveries: ['Deliveries', 'Что отправлено'],
  all: ['All', 'Все'],
  failed: ['Failed', 'Не принятые'],
  none_title: ['No deliveries yet', 'Пока ничего не отправлено'],
  none_text: [
    "Request notifications, tests and alerts appear here with the receiver's answer.",
    'Здесь появятся уведомления о запросах, пробы и предупреждения с ответом получателя.',
  ],
  none_failed: ['Every notification was delivered.', 'Все уведомления приняты.'],
  when: ['Sent', 'Отправлено'],
  cause: ['About', 'О чём'],
  result: ['Answer', 'Ответ'],
  took: ['Took', 'Заняло'],
  resend: ['Send again', 'Отправить ещё раз'],
  resent: ['Sent again and delivered.', 'Отправлено ещё раз и принято.'],
  no_answer: ['no answer', 'нет ответа'],
  causes: {
    final: ['Request ended', 'Конец запроса'],
    resend: ['Request ended, again', 'Конец запроса, повторно'],
    test: ['Test', 'Проба'],
    low_balance: ['Low balance', 'Низкий баланс'],
  },
  check: ['Verify it in your code', 'Проверка в вашем коде'],
});
