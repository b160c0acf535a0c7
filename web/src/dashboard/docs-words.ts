import { addWords } from '../words.ts';

addWords('docs', {
  en: {
    text: 'From a key to your first image.',
    all: 'All docs',
    models: 'Models and prices',
    reference: 'API reference',
    key: 'Your key',
    key_text: 'Paste your key to fill it in below. It never leaves this tab.',
    make_key: 'Create a key',
    parts: {
      key: {
        title: 'Give your programs the key',
        text: 'The programs below read it, and the address of this service, from the environment.',
      },
      tools: {
        title: 'The fare command and the JavaScript library',
        text: "The command and the library come in one package, @farebox/client. This service serves the version that matches it. Keep the library's file with your program.",
      },
      media: {
        title: 'Make an image or a video',
        text: 'A submit reserves the price and queues the request. Failed requests cost nothing.',
      },
      chat: {
        title: 'Call a text model',
        text: 'OpenAI-compatible: any OpenAI client works with this base URL and your key.',
      },
    },
    more: 'Machine-readable: <0>openapi.json</0> for tools, <1>llms.txt</1> for language models.',
  },
  ru: {
    text: 'От ключа до первой картинки.',
    all: 'Вся документация',
    models: 'Модели и цены',
    reference: 'Справочник API',
    key: 'Ваш ключ',
    key_text: 'Вставьте ключ, и он появится ниже. Он не покинет эту вкладку.',
    make_key: 'Создать ключ',
    parts: {
      key: {
        title: 'Дайте ключ своим программам',
        text: 'Программы ниже берут ключ и адрес этого сервиса из окружения.',
      },
      tools: {
        title: 'Команда fare и библиотека для JavaScript',
        text: 'Команда и библиотека — один пакет, @farebox/client. Этот сервис раздаёт подходящую ему версию. Файл библиотеки храните вместе с программой.',
      },
      media: {
        title: 'Сделайте картинку или видео',
        text: 'При отправке цена резервируется, и запрос встаёт в очередь. Неудачный запрос ничего не стоит.',
      },
      chat: {
        title: 'Вызовите текстовую модель',
        text: 'Совместимо с OpenAI: любой клиент OpenAI работает с этим адресом и вашим ключом.',
      },
    },
    more: 'Для машин: <0>openapi.json</0> для инструментов, <1>llms.txt</1> для моделей.',
  },
});
