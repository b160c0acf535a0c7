import { addTexts } from '../../i18n.ts';

addTexts('refused', {
  title: ['Refused calls', 'Отклонённые вызовы'],
  calls: [
    ['{{count}} call refused in the last day', '{{count}} calls refused in the last day'],
    [
      'За сутки отклонён {{count}} вызов',
      'За сутки отклонено {{count}} вызова',
      'За сутки отклонено {{count}} вызовов',
    ],
  ],
  why: {
    key_limit_reached: ['monthly limit', 'месячный лимит'],
    insufficient_balance: ['not enough balance', 'не хватает баланса'],
    rate_limited: ['too many calls or open jobs', 'слишком много вызовов или открытых задач'],
    forbidden: [
      'key may not use this model or call',
      'ключу нельзя использовать эту модель или вызов',
    ],
    invalid_input: ["input does not match the model's schema", 'ввод не подходит модели'],
    unpriceable: ['price cannot be computed', 'ввод нельзя оценить'],
    unknown_model: ['unknown model', 'неизвестная модель'],
    bad_request: ['malformed call', 'вызов составлен неверно'],
    bad_messages: ['malformed messages', 'сообщения составлены неверно'],
    context_length_exceeded: ['messages that are too long', 'сообщения слишком длинные'],
    bad_webhook_url: ['webhook address not allowed', 'адрес вебхука не разрешён'],
    not_found: ['an id that does not exist', 'такого номера нет'],
    method_not_allowed: ['method not allowed here', 'такой метод здесь не разрешён'],
    idempotency_conflict: [
      'idempotency key used for another call',
      'ключ идемпотентности уже занят другим вызовом',
    ],
    request_not_ready: ['output asked for too early', 'результат запрошен слишком рано'],
    not_cancellable: ['cannot be cancelled', 'запрос уже не отменить'],
    expired: ['output no longer kept', 'результат уже не хранится'],
    payload_too_large: ['body too large', 'тело слишком большое'],
    unsupported_media_type: ['content type not accepted', 'тип содержимого не принимается'],
    use_chat_completions: [
      'text model called through the queue',
      'текстовая модель отправлена в очередь',
    ],
  },
  todo: {
    other: [
      'The documentation of errors says what to do about this code.',
      'Что делать с этим кодом, написано в документации об ошибках.',
    ],
    key_limit_reached: [
      "The key's monthly limit is reached. Raise it under Keys, or use another key.",
      'Месячный лимит ключа исчерпан. Поднимите его в разделе «Ключи» или возьмите другой ключ.',
    ],
    insufficient_balance: [
      'The balance did not cover the price. Top up and send the call again.',
      'Баланса не хватило на эту цену. Пополните его и повторите вызов.',
    ],
    rate_limited: [
      'Too many calls or open jobs at once. Wait as long as Retry-After says.',
      'Слишком много вызовов или открытых задач. Подождите, сколько указано в Retry-After.',
    ],
    forbidden: [
      'The key may not make this call. Use another key, or allow the model under Keys.',
      'Этому ключу такой вызов не разрешён. Возьмите другой ключ или разрешите модель в «Ключах».',
    ],
    unknown_model: [
      'No model has this id. Copy it from the list of models.',
      'Модели с таким id нет. Скопируйте его из списка моделей.',
    ],
    invalid_input: [
      "The input does not fit the model. Correct the field that the reply's message names.",
      'Ввод не подходит модели. Исправьте поле, которое названо в ответе.',
    ],
    unpriceable: [
      "The input has no price. Correct the field that the reply's message names.",
      'Этот ввод нельзя оценить. Исправьте поле, которое названо в ответе.',
    ],
    bad_request: [
      "The call is malformed. Correct what the reply's message names.",
      'Вызов составлен неверно. Исправьте то, что названо в ответе.',
    ],
    bad_messages: [
      "The messages are malformed. Correct what the reply's message names.",
      'Сообщения составлены неверно. Исправьте то, что названо в ответе.',
    ],
    context_length_exceeded: [
      'The messages are longer than the model takes. Shorten them, or use a model with a longer context.',
      'Сообщения длиннее, чем принимает модель. Сократите их или возьмите модель с большим контекстом.',
    ],
    bad_webhook_url: [
      'The address of the webhook must be public http or https.',
      'Адрес вебхука должен быть публичным http или https.',
    ],
    not_found: [
      'Nothing with this id belongs to the account. Check the id and the key.',
      'В аккаунте нет ничего с таким id. Проверьте id и ключ.',
    ],
    idempotency_conflict: [
      'This Idempotency-Key belongs to another call. Use a new one for a new request.',
      'Этот Idempotency-Key занят другим вызовом. Для нового запроса возьмите новый.',
    ],
    request_not_ready: [
      'The request was not completed yet. Poll its status first.',
      'Запрос ещё не был готов. Сначала дождитесь его состояния.',
    ],
    not_cancellable: [
      'The request had already begun, or ended.',
      'Запрос уже начал выполняться или закончился.',
    ],
    expired: [
      'Outputs are kept for 24 hours. Save them in time, or run the request again.',
      'Результаты хранятся 24 часа. Сохраняйте их вовремя или запустите запрос ещё раз.',
    ],
    payload_too_large: [
      'The body is larger than the call allows. Upload files, and send their ids.',
      'Тело больше, чем допускает вызов. Загрузите файлы и отправьте их id.',
    ],
    unsupported_media_type: [
      'Send JSON, or the own type of a file.',
      'Отправьте JSON, а файл — с его собственным типом.',
    ],
  },
});
