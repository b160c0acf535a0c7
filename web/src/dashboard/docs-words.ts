import { addWords } from '../words.ts';

addWords('docs', {
  en: {
    text: 'From a key to a finished picture, and every call there is.',
    start: 'Quick start',
    reference: 'API reference',
    key: 'Your key',
    key_text: 'Put in here it stands in all examples below. It stays in this tab and goes nowhere.',
    make_key: 'Make a key',
    address: 'Base address',
    steps: {
      price: {
        title: 'Ask for the price',
        text: 'The exact price of an input, before anything runs. Nothing is reserved.',
      },
      submit: {
        title: 'Submit',
        text: 'Reserves that price and queues the request. The Idempotency-Key makes a repeat safe.',
      },
      wait: {
        title: 'Wait for its end',
        text: 'Ask for the status, follow it as a stream, or give a webhook_url with the submit.',
      },
      result: {
        title: 'Fetch the result',
        text: 'Outputs are signed links for 24 hours. What failed costs nothing.',
      },
      chat: {
        title: 'Call a text model',
        text: 'As with OpenAI: any of their clients works with this base address and your key.',
      },
    },
    tools: 'The fare command and the JavaScript library',
    tools_text:
      'Both are the package @farebox/client, which this service hands out in its own version. The command asks for your key and keeps it; the file of the library is one to keep with your program.',
    more: 'Machine-readable: <0>openapi.json</0> for tools, <1>llms.txt</1> for models.',
    find: 'Find a call',
    body: 'Body',
    replies: 'Replies',
    required: 'required',
    spends: 'This call spends the balance of this account.',
    file: 'File',
    answer: 'Answer',
    not_here: 'This call is not made from here: upstreams or supervisors make it.',
    nothing: 'No call fits.',
    may_not: 'Your role may not make this call.',
  },
  ru: {
    text: 'От ключа до готовой картинки, и все вызовы.',
    start: 'Быстрый старт',
    reference: 'Справочник API',
    key: 'Ваш ключ',
    key_text:
      'Введённый здесь, он стоит во всех примерах ниже. Он остаётся в этой вкладке и никуда не уходит.',
    make_key: 'Создать ключ',
    address: 'Базовый адрес',
    steps: {
      price: { title: 'Узнайте цену', text: 'Точная цена до запуска. Ничего не резервируется.' },
      submit: {
        title: 'Отправьте запрос',
        text: 'Резервирует эту цену и ставит запрос в очередь. Idempotency-Key делает повтор безопасным.',
      },
      wait: {
        title: 'Дождитесь конца',
        text: 'Спрашивайте статус, следите за потоком или укажите webhook_url при отправке.',
      },
      result: {
        title: 'Заберите результат',
        text: 'Результаты — подписанные ссылки на 24 часа. Неудачный запрос ничего не стоит.',
      },
      chat: {
        title: 'Вызовите текстовую модель',
        text: 'Как у OpenAI: любой их клиент работает с этим адресом и вашим ключом.',
      },
    },
    tools: 'Команда fare и библиотека для JavaScript',
    tools_text:
      'Обе — это пакет @farebox/client; сервис сам раздаёт его в своей версии. Команда спросит ключ и сохранит его, а файл библиотеки храните вместе с программой.',
    more: 'Для машин: <0>openapi.json</0> для инструментов, <1>llms.txt</1> для моделей.',
    find: 'Найти вызов',
    body: 'Тело',
    replies: 'Ответы',
    required: 'обязательно',
    spends: 'Этот вызов тратит баланс этого аккаунта.',
    file: 'Файл',
    answer: 'Ответ',
    not_here: 'Этот вызов делают не отсюда: его делают апстримы или системы надзора.',
    nothing: 'Нет подходящего вызова.',
    may_not: 'Ваша роль не позволяет этот вызов.',
  },
});
