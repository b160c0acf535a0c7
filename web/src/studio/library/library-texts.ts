import { kindWords } from '../../../../server/src/core/task-words.ts';
import { addTexts } from '../../i18n.ts';

addTexts('library', {
  title: ['Library', 'Библиотека'],
  search: ['Search your prompts', 'Поиск по вашим запросам'],
  show: ['Show', 'Показать'],
  all: ['All', 'Всё'],
  image: kindWords.image,
  video: kindWords.video,
  favorites: ['Favorites', 'Избранное'],
  model: ['Model', 'Модель'],
  any_model: ['All models', 'Все модели'],
  day: ['Day', 'День'],
  today: ['Today', 'Сегодня'],
  yesterday: ['Yesterday', 'Вчера'],
  kept: ['first file deleted {{when}}', 'первый файл удалится {{when}}'],
  earlier: ['Without files', 'Без файлов'],
  earlier_text: [
    'Files are deleted after 24 hours. With the same values you can make them again.',
    'Файлы удаляются через 24 часа. С теми же значениями их можно сделать снова.',
  ],
  again: ['Make again', 'Сделать снова'],
  again_of: ['Make again: {{what}}', 'Сделать снова: {{what}}'],
  not_offered: ['No longer offered', 'Больше не предлагается'],
  select: ['Select', 'Выбрать'],
  done: ['Done', 'Готово'],
  selected: [
    ['{{count}} selected', '{{count}} selected'],
    ['Выбран {{count}}', 'Выбрано {{count}}', 'Выбрано {{count}}'],
  ],
  select_all: ['Select all', 'Выбрать все'],
  select_none: ['Clear selection', 'Снять выбор'],
  select_max: ['At most {{max}} at once.', 'Не больше {{max}} за раз.'],
  zip: ['Download as ZIP', 'Скачать ZIP'],
  delete: ['Delete files', 'Удалить файлы'],
  delete_title: [
    ['Delete the files of one request?', 'Delete the files of {{count}} requests?'],
    [
      'Удалить файлы {{count}} запроса?',
      'Удалить файлы {{count}} запросов?',
      'Удалить файлы {{count}} запросов?',
    ],
  ],
  delete_text: [
    'Their pictures, videos and sounds are deleted at once and cannot be restored; their links stop working. The requests stay in the list, with their words and prices. Nothing is refunded.',
    'Картинки, видео и звуки удаляются сразу и без возможности вернуть; ссылки на них перестают работать. Сами запросы со словами и ценами останутся в списке. Деньги не возвращаются.',
  ],
  deleted: [
    ['Files of one request deleted.', 'Files of {{count}} requests deleted.'],
    [
      'Файлы {{count}} запроса удалены.',
      'Файлы {{count}} запросов удалены.',
      'Файлы {{count}} запросов удалены.',
    ],
  ],
  delete_failed: [
    [
      'The files of one request could not be deleted.',
      'The files of {{count}} requests could not be deleted.',
    ],
    [
      'Файлы {{count}} запроса удалить не удалось.',
      'Файлы {{count}} запросов удалить не удалось.',
      'Файлы {{count}} запросов удалить не удалось.',
    ],
  ],
  open: ['Open: {{what}}', 'Открыть: {{what}}'],
  choose: ['Select: {{what}}', 'Выбрать: {{what}}'],
  a_run: ['Request without a prompt', 'Запрос без текста'],
  empty_title: ['Nothing made yet', 'Пока ничего нет'],
  empty_text: [
    'Everything that this account makes is collected here, whatever the model.',
    'Здесь собирается всё, что сделано в этом аккаунте, на любой модели.',
  ],
  empty_action: ['Choose a model', 'Выбрать модель'],
  none_title: ['No matches', 'Ничего не подходит'],
  none_text: ['No request matches all of this.', 'Ни один запрос под это не подходит.'],
  further_text: ['Looked back to {{when}}.', 'Просмотрено до {{when}}.'],
  further: ['Look further back', 'Искать дальше'],
  clear: ['Clear filters', 'Сбросить фильтры'],
  wall: ['Kept files', 'Сохранённые файлы'],
  keys: [
    'Arrow keys move, Enter opens, the space bar selects.',
    'Стрелки — переход, Enter — открыть, пробел — выбрать.',
  ],
});
