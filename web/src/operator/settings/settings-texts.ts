import { addTexts } from '../../i18n.ts';

addTexts('operator_settings', {
  banner: ['Banner', 'Объявление'],
  banner_text: [
    'Plain text above all pages, also the public ones. Visitors can close it and see the next one again. If one language is empty, its pages show the other.',
    'Простой текст над всеми страницами, и публичными тоже. Его можно закрыть; новый появится снова. Если на одном языке пусто, там виден текст на другом.',
  ],
  in_english: ['In English', 'На английском'],
  in_russian: ['In Russian', 'На русском'],
  show: ['Show banner', 'Показать объявление'],
  hide: ['Remove banner', 'Убрать объявление'],
  banner_set: ['The banner is shown.', 'Объявление показано.'],
  banner_gone: ['The banner is removed.', 'Объявление убрано.'],
  settings: ['Set at the start', 'Заданное при запуске'],
  settings_text: [
    'The process that answers was started with these settings. Change them where it is started. No part of a secret is shown.',
    'С ними запущен процесс, который отвечает. Меняются там, где он запускается. Секреты не видны даже частично.',
  ],
  find: ['Find a setting', 'Найти настройку'],
  show_all: ['Show all {{n}}', 'Показать все ({{n}})'],
  only_given: ['Only those set here', 'Только заданные'],
  name: ['Name', 'Имя'],
  value: ['Value', 'Значение'],
  from: ['From', 'Откуда'],
  says: ['Meaning', 'Смысл'],
  source: {
    default: ['default', 'по умолчанию'],
    environment: ['environment', 'окружение'],
    file: ['file', 'файл'],
  },
  secret_set: ['Set, hidden', 'Задан, скрыт'],
  not_set: ['Not set', 'Не задано'],
  empty: ['Empty', 'Пусто'],
  none: ['No such setting', 'Такой настройки нет'],
  none_text: ['Try a part of its name.', 'Попробуйте часть имени.'],
});
