import { addTexts } from '../../i18n.ts';

addTexts('usage', {
  text: [
    'Charges of requests by the UTC day on which they ended, less refunds.',
    'Сколько стоили запросы, по дням UTC, в которые они закончились, за вычетом возвратов.',
  ],
  days: ['Last {{days}} days', 'За {{days}} дней'],
  by: ['Group by', 'Разбивка'],
  groups: {
    model: ['Model', 'Модель'],
    key: ['Key', 'Ключ'],
    person: ['Person', 'Человек'],
    day: ['Day', 'День'],
    metadata: ['Metadata', 'Метаданные'],
  },
  name: ['Name in the metadata', 'Имя в метаданных'],
  name_hint: ['such as customer', 'например customer'],
  name_wanted: [
    'Type a name that your programs send with their requests, such as customer.',
    'Введите имя, которое ваши программы передают с запросами, например customer.',
  ],
  requests: ['Requests', 'Запросы'],
  failed: ['Failed', 'С ошибкой'],
  tokens: ['Tokens', 'Токены'],
  charged: ['Charged', 'Списано'],
  before: ['{{days}} days before', '{{days}} дней до этого'],
  change: ['Change', 'Изменение'],
  fresh: ['new', 'новое'],
  programs: ['Programs with keys', 'Программы с ключами'],
  without: ['without {{name}}', 'без {{name}}'],
  more: [
    'The {{count}} most expensive lines are shown. The file has all.',
    'Показаны {{count}} самых дорогих строк. В файле есть все.',
  ],
  cut: [
    'These days, or those before, have more than {{read, number}} lines. Only the first by name are read, so there is no sum and no comparison, and the file has no others. Choose fewer days to see all.',
    'В этих днях или в днях до них больше {{read, number}} строк. Читаются только первые по имени, поэтому итога и сравнения нет, а в файле нет остальных. Чтобы увидеть все, выберите меньше дней.',
  ],
  csv: ['Download CSV', 'Скачать CSV'],
  none: ['No requests ended in these days', 'В эти дни запросов не было'],
  none_text: [
    'Choose more days, or another grouping.',
    'Выберите больше дней или другую разбивку.',
  ],
});
