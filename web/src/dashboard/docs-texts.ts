import { addTexts } from '../i18n.ts';

addTexts('docs', {
  text: ['From a key to your first image.', 'От ключа до первой картинки.'],
  all: ['All docs', 'Вся документация'],
  models: ['Models and prices', 'Модели и цены'],
  reference: ['API reference', 'Справочник API'],
  key: ['Your key', 'Ваш ключ'],
  key_text: [
    'Paste your key to fill it in below. It never leaves this tab.',
    'Вставьте ключ, и он появится ниже. Он не покинет эту вкладку.',
  ],
  make_key: ['Create a key', 'Создать ключ'],
  parts: {
    key: {
      title: ['Give your programs the key', 'Дайте ключ своим программам'],
      text: [
        'The programs below read it, and the address of this service, from the environment.',
        'Программы ниже берут ключ и адрес этого сервиса из окружения.',
      ],
    },
    tools: {
      title: [
        'The fare command and the JavaScript library',
        'Команда fare и библиотека для JavaScript',
      ],
      text: [
        "The command and the library come in one package, @farebox/client. This service serves the version that matches it. Keep the library's file with your program.",
        'Команда и библиотека — один пакет, @farebox/client. Этот сервис раздаёт подходящую ему версию. Файл библиотеки храните вместе с программой.',
      ],
    },
    media: {
      title: ['Make an image or a video', 'Сделайте картинку или видео'],
      text: [
        'A submit reserves the price and queues the request. Failed requests cost nothing.',
        'При отправке цена резервируется, и запрос встаёт в очередь. Неудачный запрос ничего не стоит.',
      ],
    },
    chat: {
      title: ['Call a text model', 'Вызовите текстовую модель'],
      text: [
        'OpenAI-compatible: any OpenAI client works with this base URL and your key.',
        'Совместимо с OpenAI: любой клиент OpenAI работает с этим адресом и вашим ключом.',
      ],
    },
  },
  more: [
    'Machine-readable: [openapi.json] for tools, [llms.txt] for language models.',
    'Для машин: [openapi.json] для инструментов, [llms.txt] для моделей.',
  ],
});
