import { addWords } from '../../words.ts';

addWords('refused', {
  en: {
    title: 'Refused calls',
    calls_one: '{{count}} call refused in the last hour',
    calls_other: '{{count}} calls refused in the last hour',
    why: {
      key_limit_reached: 'monthly limit',
      insufficient_balance: 'not enough balance',
      rate_limited: 'too many calls or open jobs',
      forbidden: 'key may not use this model or call',
      invalid_input: "input does not match the model's schema",
      unpriceable: 'price cannot be computed',
      unknown_model: 'unknown model',
      bad_request: 'malformed call',
      bad_messages: 'malformed messages',
      context_length_exceeded: 'messages that are too long',
      bad_webhook_url: 'webhook address not allowed',
      use_chat_completions: 'text model called through the queue',
    },
  },
  ru: {
    title: 'Отклонённые вызовы',
    calls_one: 'За последний час отклонён {{count}} вызов',
    calls_few: 'За последний час отклонено {{count}} вызова',
    calls_many: 'За последний час отклонено {{count}} вызовов',
    why: {
      key_limit_reached: 'месячный лимит',
      insufficient_balance: 'не хватает баланса',
      rate_limited: 'слишком много вызовов или открытых задач',
      forbidden: 'ключу нельзя использовать эту модель или вызов',
      invalid_input: 'ввод не подходит модели',
      unpriceable: 'ввод нельзя оценить',
      unknown_model: 'неизвестная модель',
      bad_request: 'вызов составлен неверно',
      bad_messages: 'сообщения составлены неверно',
      context_length_exceeded: 'сообщения слишком длинные',
      bad_webhook_url: 'адрес вебхука не разрешён',
      use_chat_completions: 'текстовая модель отправлена в очередь',
    },
  },
});
