import { addWords } from '../words.ts';

addWords('docs', {
  en: {
    text: 'From a key to your first image, and a reference of every call.',
    all: 'All docs',
    models: 'Models and prices',
    start: 'Quick start',
    reference: 'API reference',
    key: 'Your key',
    key_text: 'Paste your key to fill in the examples below. It never leaves this tab.',
    make_key: 'Create a key',
    address: 'Base URL',
    steps: {
      price: {
        title: 'Ask for the price',
        text: 'Get the exact price of an input before anything runs. Nothing is reserved.',
      },
      submit: {
        title: 'Submit',
        text: 'Reserves that price and queues the request. With an Idempotency-Key you can safely repeat the call.',
      },
      wait: {
        title: 'Wait for the result',
        text: 'Poll the status, follow it as a stream, or set a webhook_url when you submit.',
      },
      result: {
        title: 'Fetch the result',
        text: 'Outputs are signed links, valid for 24 hours. Failed requests cost nothing.',
      },
      chat: {
        title: 'Call a text model',
        text: 'OpenAI-compatible: any OpenAI client works with this base URL and your key.',
      },
    },
    tools: 'The fare command and the JavaScript library',
    tools_text:
      "The command and the library come in one package, @farebox/client. This service serves the version that matches it. The command asks for your key and stores it; keep the library's file with your program.",
    more: 'Machine-readable: <0>openapi.json</0> for tools, <1>llms.txt</1> for language models.',
    find: 'Find a call',
    body: 'Body',
    replies: 'Replies',
    spends:
      'Charges your balance: the price is reserved when you press Send, then the actual cost is charged.',
    bad_json: 'This is not valid JSON. Nothing is sent until it is.',
    key_only: 'The pages have no form for this call. Make it with a key.',
    file: 'File',
    answer: 'Answer',
    not_here:
      'This call cannot be tried here: it is meant for upstreams, monitoring systems or the operator’s programs.',
    nothing: 'No matching calls.',
    may_not: 'Your role cannot make this call.',
  },
  ru: {
    text: 'От ключа до первой картинки и справочник всех вызовов.',
    all: 'Вся документация',
    models: 'Модели и цены',
    start: 'Быстрый старт',
    reference: 'Справочник API',
    key: 'Ваш ключ',
    key_text: 'Вставьте ключ, и он появится во всех примерах ниже. Он не покинет эту вкладку.',
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
        text: 'Совместимо с OpenAI: любой клиент OpenAI работает с этим адресом и вашим ключом.',
      },
    },
    tools: 'Команда fare и библиотека для JavaScript',
    tools_text:
      'Команда и библиотека — один пакет, @farebox/client. Этот сервис раздаёт подходящую ему версию. Команда спросит ключ и сохранит его; файл библиотеки храните вместе с программой.',
    more: 'Для машин: <0>openapi.json</0> для инструментов, <1>llms.txt</1> для моделей.',
    find: 'Найти вызов',
    body: 'Тело',
    replies: 'Ответы',
    spends:
      'Списывает с баланса: при отправке цена резервируется, затем списывается фактическая стоимость.',
    bad_json: 'Это неверный JSON. Пока он не исправлен, вызов не отправится.',
    key_only: 'На страницах нет формы для этого вызова. Сделайте его с ключом.',
    file: 'Файл',
    answer: 'Ответ',
    not_here:
      'Этот вызов нельзя попробовать здесь: он для апстримов, систем мониторинга или программ оператора.',
    nothing: 'Нет подходящего вызова.',
    may_not: 'Ваша роль не позволяет этот вызов.',
  },
});
