import { addTexts } from '../../i18n.ts';

addTexts('refused', {
  title: ['Refused calls', 'Отклонённые вызовы'],
  calls: [
    ['{{count}} call refused in the last hour', '{{count}} calls refused in the last hour'],
    [
      'За последний час отклонён {{count}} вызов',
      'За последний час отклонено {{count}} вызова',
      'За последний час отклонено {{count}} вызовов',
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
    use_chat_completions: [
      'text model called through the queue',
      'текстовая модель отправлена в очередь',
    ],
  },
});
