import { addWords } from '../words.ts';

addWords('docs', {
  en: {
    text: 'From a key to your first image.',
    all: 'All docs',
    models: 'Models and prices',
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
  },
  ru: {
    text: 'От ключа до первой картинки.',
    all: 'Вся документация',
    models: 'Модели и цены',
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
  },
});
