import { addTexts } from '../../i18n.ts';

addTexts('date', {
  none: ['Any day', 'Любой день'],
  clear: ['Remove the day: {{what}}', 'Убрать день: {{what}}'],
  before: ['Month before', 'Предыдущий месяц'],
  after: ['Next month', 'Следующий месяц'],
});
