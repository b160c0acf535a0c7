import { addWords } from '../words.ts';

addWords('operator_attention', {
  en: {
    title: 'To see to',
    since: 'the oldest of',
    nothing:
      'Nothing waits for you: books, upstreams, queue, catalog and disk are as they should be.',
    of: {
      restored_copy:
        'This database is a restored copy: nothing is started or sent until you run farebox resume-after-restore',
      books_broken_one: 'The books do not balance: {{count}} law is broken',
      books_broken_other: 'The books do not balance: {{count}} laws are broken',
      books_old: 'The books were not proved for a long time',
      disk_low: 'The disk is nearly full: nothing new is taken until there is room',
      storage_away: 'The storage does not answer: images and videos wait until it is back',
      clock_skew: 'The clock of the database differs from the clock of the service',
      credential_refused_one: 'An upstream does not take your key',
      credential_refused_other: '{{count}} upstreams do not take your key',
      credit_used_up_one: 'Your account at an upstream is out of credit',
      credit_used_up_other: 'Your accounts at {{count}} upstreams are out of credit',
      upstream_rests_one: 'An upstream rests',
      upstream_rests_other: '{{count}} upstreams rest',
      model_rests_one: 'A model of an upstream rests',
      model_rests_other: '{{count}} models of upstreams rest',
      jobs_stranded_one: '{{count}} job runs at an upstream that is not set up here any more',
      jobs_stranded_other: '{{count}} jobs run at upstreams that are not set up here any more',
      queue_old_one: 'A queue is long: soon it takes no more requests',
      queue_old_other: '{{count}} queues are long: soon they take no more requests',
      unknown_outcomes_one: '{{count}} unknown outcome',
      unknown_outcomes_other: '{{count}} unknown outcomes',
      catalog_problems_one: '{{count}} problem in the catalog files',
      catalog_problems_other: '{{count}} problems in the catalog files',
      rows_left_out_one: '{{count}} model is left out of the catalog',
      rows_left_out_other: '{{count}} models are left out of the catalog',
      costs_exceed_charges_one:
        '{{count}} model cost more than it brought in the last day. Raise its price, or stop it',
      costs_exceed_charges_other:
        '{{count}} models cost more than they brought in the last day. Raise their prices, or stop them',
      sold_below_cost_one: '{{count}} model is sold below its own cost',
      sold_below_cost_other: '{{count}} models are sold below their own cost',
    },
  },
  ru: {
    title: 'Требует внимания',
    since: 'самый старый:',
    nothing: 'Ничего срочного: книги, апстримы, очередь, каталог и диск в порядке.',
    of: {
      restored_copy:
        'Эта база восстановлена из копии: ничего не запускается и не отправляется, пока вы не выполните farebox resume-after-restore',
      books_broken_one: 'Книги не сходятся: нарушен {{count}} закон',
      books_broken_few: 'Книги не сходятся: нарушено {{count}} закона',
      books_broken_many: 'Книги не сходятся: нарушено {{count}} законов',
      books_old: 'Книги давно не проверялись',
      disk_low: 'Диск почти заполнен: новое не принимается, пока нет места',
      storage_away: 'Хранилище не отвечает: картинки и видео ждут его возвращения',
      clock_skew: 'Часы базы данных и часы сервиса расходятся',
      credential_refused_one: '{{count}} апстрим не принимает ваш ключ',
      credential_refused_few: '{{count}} апстрима не принимают ваш ключ',
      credential_refused_many: '{{count}} апстримов не принимают ваш ключ',
      credit_used_up_one: 'На {{count}} апстриме у вас кончились деньги',
      credit_used_up_few: 'На {{count}} апстримах у вас кончились деньги',
      credit_used_up_many: 'На {{count}} апстримах у вас кончились деньги',
      upstream_rests_one: '{{count}} апстрим на паузе',
      upstream_rests_few: '{{count}} апстрима на паузе',
      upstream_rests_many: '{{count}} апстримов на паузе',
      model_rests_one: '{{count}} модель апстрима на паузе',
      model_rests_few: '{{count}} модели апстримов на паузе',
      model_rests_many: '{{count}} моделей апстримов на паузе',
      jobs_stranded_one:
        '{{count}} задание выполняется на апстриме, который здесь больше не настроен',
      jobs_stranded_few:
        '{{count}} задания выполняются на апстримах, которые здесь больше не настроены',
      jobs_stranded_many:
        '{{count}} заданий выполняются на апстримах, которые здесь больше не настроены',
      queue_old_one: '{{count}} очередь стоит долго и скоро перестанет принимать запросы',
      queue_old_few: '{{count}} очереди стоят долго и скоро перестанут принимать запросы',
      queue_old_many: '{{count}} очередей стоят долго и скоро перестанут принимать запросы',
      unknown_outcomes_one: '{{count}} неизвестный исход',
      unknown_outcomes_few: '{{count}} неизвестных исхода',
      unknown_outcomes_many: '{{count}} неизвестных исходов',
      catalog_problems_one: '{{count}} ошибка в файлах каталога',
      catalog_problems_few: '{{count}} ошибки в файлах каталога',
      catalog_problems_many: '{{count}} ошибок в файлах каталога',
      rows_left_out_one: '{{count}} модель не попала в каталог',
      rows_left_out_few: '{{count}} модели не попали в каталог',
      rows_left_out_many: '{{count}} моделей не попали в каталог',
      costs_exceed_charges_one:
        '{{count}} модель за последний день обошлась дороже, чем принесла. Поднимите цену или снимите её с продажи',
      costs_exceed_charges_few:
        '{{count}} модели за последний день обошлись дороже, чем принесли. Поднимите цены или снимите их с продажи',
      costs_exceed_charges_many:
        '{{count}} моделей за последний день обошлись дороже, чем принесли. Поднимите цены или снимите их с продажи',
      sold_below_cost_one: '{{count}} модель продаётся дешевле своей себестоимости',
      sold_below_cost_few: '{{count}} модели продаются дешевле своей себестоимости',
      sold_below_cost_many: '{{count}} моделей продаются дешевле своей себестоимости',
    },
  },
});
