import { addTexts } from '../../i18n.ts';

addTexts('request', {
  list: ['Requests', 'Запросы'],
  again: ['Run again', 'Повторить'],
  outputs: ['Output', 'Результат'],
  reply: ['Reply', 'Ответ'],
  more_output: ['Other fields of the output', 'Другие поля результата'],
  alt: ['Output {{n}} of {{model}}', 'Результат {{n}}, {{model}}'],
  gone: [
    'Outputs are kept for 24 hours. This one was deleted on {{when}}.',
    'Результаты хранятся 24 часа. Этот удалён {{when}}.',
  ],
  kept_until: [
    'Kept until {{when}}. Download what you want to keep.',
    'Хранится до {{when}}. Скачайте то, что нужно сохранить.',
  ],
  no_outputs: ['This request has no output.', 'У этого запроса нет результата.'],
  chat_not_kept: [
    'A chat reply is kept only if the call had an Idempotency-Key.',
    'Ответ чата хранится, только если вызов был с Idempotency-Key.',
  ],
  cleared: [
    'Input and output were deleted on {{when}}. Price and times are kept.',
    'Ввод и результат удалены {{when}}; цена и время остались.',
  ],
  code: ['The same request in code', 'Тот же запрос в коде'],
  code_text: [
    'Set FAREBOX_API_KEY to a key of this account. The docs explain how to get fare and @farebox/client.',
    'Поместите ключ этого аккаунта в FAREBOX_API_KEY. Откуда взять fare и @farebox/client, сказано в документации.',
  ],
  code_chat: [
    'The messages are not kept: insert your own.',
    'Сообщения не хранятся: вставьте свои.',
  ],
  price: ['Price', 'Цена'],
  quoted: ['Quoted', 'Резерв'],
  returned: ['Returned', 'Возвращено'],
  refunded: ['Refunded', 'Возврат денег'],
  reserved: ['reserved until it ends', 'в резерве до завершения'],
  per: {
    sec: ['per second', 'за секунду'],
    image: ['per image', 'за изображение'],
    request: ['per request', 'за запрос'],
    MP: ['per megapixel', 'за мегапиксель'],
    '1M tokens': ['per million tokens', 'за миллион токенов'],
  },
  delivered: ['Delivered: {{quantity}} {{unit}}', 'Получено: {{quantity}} {{unit}}'],
  assumed: ['Defaults used: {{what}}', 'Не было указано, поэтому взято: {{what}}'],
  unit: {
    sec: ['s', 'с'],
    image: ['images', 'изобр.'],
    request: ['requests', 'запр.'],
    MP: ['megapixels', 'мегапикс.'],
    '1M tokens': ['tokens', 'токенов'],
  },
  metadata: ['Metadata', 'Метаданные'],
  find_metadata: ['All requests with {{pair}}', 'Все запросы с {{pair}}'],
  error_free: ['Nothing was charged.', 'Ничего не списано.'],
  error: {
    upstream_rejected: [
      'The model does not accept this input. Change the prompt or the files and run it again.',
      'Модель не принимает эти данные. Измените описание или файлы и повторите.',
    ],
    upstream_failed: [
      'The model failed. Run it again; if that fails too, try another model.',
      'Сбой на стороне модели. Повторите; если не поможет, возьмите другую модель.',
    ],
    timeout: [
      'Run it again, or ask for less: a shorter video or a smaller image.',
      'Повторите или попросите меньше: короче видео, меньше изображение.',
    ],
    output_too_large: [
      'Ask for a smaller or shorter output.',
      'Попросите результат меньше или короче.',
    ],
    outcome_unknown: [
      'Run it again. We did not send it a second time, so that it could not be made twice.',
      'Повторите. Второй раз запрос не отправлялся, чтобы не выполнить его дважды.',
    ],
    output_unusable: [
      'Run it again; if that fails too, try another model.',
      'Повторите; если не поможет, возьмите другую модель.',
    ],
  },
});
