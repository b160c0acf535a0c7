import { addTexts } from '../i18n.ts';

addTexts('operator_attention', {
  title: ['Needs attention', 'Требует внимания'],
  since: ['oldest:', 'самый старый:'],
  nothing: [
    'All clear: books, upstreams, queue, catalog and disk are fine.',
    'Ничего срочного: книги, апстримы, очередь, каталог и диск в порядке.',
  ],
  act: {
    books_old: ['Check now', 'Проверить'],
    credit_used_up: ['Resume', 'Возобновить'],
    upstream_paused: ['Resume', 'Возобновить'],
    model_paused: ['Resume', 'Возобновить'],
    models_stopped: ['Sell again', 'Продавать'],
    deposits_held: ['Credit', 'Зачислить'],
    unknown_outcomes: ['Resolve', 'Разобрать'],
  },
  done: {
    proved: ['The books are checked.', 'Книги проверены.'],
    resumed: ['{{name}} gets requests again.', '{{name}}: запросы снова идут.'],
    sold: ['{{name}} is sold again.', '{{name}}: снова в продаже.'],
  },
  of: {
    restored_copy: [
      'This database is a restored copy: nothing is started or sent until you run farebox resume-after-restore',
      'Эта база восстановлена из копии: ничего не запускается и не отправляется, пока вы не выполните farebox resume-after-restore',
    ],
    books_broken: [
      [
        'The books do not balance: {{count}} check failed',
        'The books do not balance: {{count}} checks failed',
      ],
      [
        'Книги не сходятся: нарушен {{count}} закон',
        'Книги не сходятся: нарушено {{count}} закона',
        'Книги не сходятся: нарушено {{count}} законов',
      ],
    ],
    books_old: ['The books have not been checked for a long time', 'Книги давно не проверялись'],
    disk_low: [
      'The disk is nearly full: new requests are refused until there is space',
      'Диск почти заполнен: новое не принимается, пока нет места',
    ],
    storage_away: [
      'The storage is not responding: images and videos wait until it is back',
      'Хранилище не отвечает: картинки и видео ждут его возвращения',
    ],
    clock_skew: [
      'The clock of the database differs from the clock of the service',
      'Часы базы данных и часы сервиса расходятся',
    ],
    credential_refused: [
      ['An upstream rejects your key', '{{count}} upstreams reject your key'],
      [
        '{{count}} апстрим не принимает ваш ключ',
        '{{count}} апстрима не принимают ваш ключ',
        '{{count}} апстримов не принимают ваш ключ',
      ],
    ],
    credit_used_up: [
      [
        'Your account at an upstream is out of credit',
        'Your accounts at {{count}} upstreams are out of credit',
      ],
      [
        'На {{count}} апстриме у вас кончились деньги',
        'На {{count}} апстримах у вас кончились деньги',
        'На {{count}} апстримах у вас кончились деньги',
      ],
    ],
    upstream_paused: [
      ['An upstream is paused', '{{count}} upstreams are paused'],
      ['{{count}} апстрим на паузе', '{{count}} апстрима на паузе', '{{count}} апстримов на паузе'],
    ],
    model_paused: [
      ['A model is paused at an upstream', '{{count}} models are paused at upstreams'],
      [
        '{{count}} модель апстрима на паузе',
        '{{count}} модели апстримов на паузе',
        '{{count}} моделей апстримов на паузе',
      ],
    ],
    jobs_stranded: [
      [
        '{{count}} job is running at an upstream that is no longer set up',
        '{{count}} jobs are running at upstreams that are no longer set up',
      ],
      [
        '{{count}} задание выполняется на апстриме, который здесь больше не настроен',
        '{{count}} задания выполняются на апстримах, которые здесь больше не настроены',
        '{{count}} заданий выполняются на апстримах, которые здесь больше не настроены',
      ],
    ],
    queue_old: [
      [
        'Requests wait long in a queue: it will soon refuse new ones',
        'Requests wait long in {{count}} queues: they will soon refuse new ones',
      ],
      [
        '{{count}} очередь стоит долго и скоро перестанет принимать запросы',
        '{{count}} очереди стоят долго и скоро перестанут принимать запросы',
        '{{count}} очередей стоят долго и скоро перестанут принимать запросы',
      ],
    ],
    xpub_differs: [
      [
        'An xpub differs from the stored one: no address is shown',
        '{{count}} xpubs differ from the stored ones: no address is shown',
      ],
      [
        '{{count}} xpub не совпадает с сохранённым: адреса не показываются',
        '{{count}} xpub не совпадают с сохранёнными: адреса не показываются',
        '{{count}} xpub не совпадают с сохранёнными: адреса не показываются',
      ],
    ],
    chain_stopped: [
      [
        'The reading of a chain has stopped: its deposits are not credited',
        'The reading of {{count}} chains has stopped: their deposits are not credited',
      ],
      [
        'Чтение {{count}} блокчейна остановлено: поступления не зачисляются',
        'Чтение {{count}} блокчейнов остановлено: поступления не зачисляются',
        'Чтение {{count}} блокчейнов остановлено: поступления не зачисляются',
      ],
    ],
    chain_refused: [
      [
        'A chain has a wrong setting: its addresses are not shown',
        '{{count}} chains have wrong settings: their addresses are not shown',
      ],
      [
        'У {{count}} блокчейна неверная настройка: адреса не показываются',
        'У {{count}} блокчейнов неверные настройки: адреса не показываются',
        'У {{count}} блокчейнов неверные настройки: адреса не показываются',
      ],
    ],
    chain_behind: [
      [
        'A chain is read late: its deposits wait',
        '{{count}} chains are read late: their deposits wait',
      ],
      [
        '{{count}} блокчейн читается с опозданием: поступления ждут',
        '{{count}} блокчейна читаются с опозданием: поступления ждут',
        '{{count}} блокчейнов читаются с опозданием: поступления ждут',
      ],
    ],
    chain_rescan_late: [
      [
        'A chain is not read a second time: a missed deposit is not found',
        '{{count}} chains are not read a second time: missed deposits are not found',
      ],
      [
        '{{count}} блокчейн не читается второй раз: пропущенное поступление не найдётся',
        '{{count}} блокчейна не читаются второй раз: пропущенные поступления не найдутся',
        '{{count}} блокчейнов не читаются второй раз: пропущенные поступления не найдутся',
      ],
    ],
    chain_single_endpoint: [
      [
        'A chain has only one endpoint: nobody else confirms its deposits',
        '{{count}} chains have only one endpoint: nobody else confirms their deposits',
      ],
      [
        'У {{count}} блокчейна только один узел: поступления больше никто не подтверждает',
        'У {{count}} блокчейнов только один узел: поступления больше никто не подтверждает',
        'У {{count}} блокчейнов только один узел: поступления больше никто не подтверждает',
      ],
    ],
    deposits_held: [
      ['{{count}} deposit is held', '{{count}} deposits are held'],
      [
        '{{count}} поступление ждёт решения',
        '{{count}} поступления ждут решения',
        '{{count}} поступлений ждут решения',
      ],
    ],
    unknown_outcomes: [
      ['{{count}} unknown outcome', '{{count}} unknown outcomes'],
      [
        '{{count}} неизвестный исход',
        '{{count}} неизвестных исхода',
        '{{count}} неизвестных исходов',
      ],
    ],
    events_unsent: [
      [
        '{{count}} event was not accepted by your webhook',
        '{{count}} events were not accepted by your webhook',
      ],
      [
        '{{count}} событие не принял ваш вебхук',
        '{{count}} события не принял ваш вебхук',
        '{{count}} событий не принял ваш вебхук',
      ],
    ],
    catalog_problems: [
      ['{{count}} problem in the catalog files', '{{count}} problems in the catalog files'],
      [
        '{{count}} ошибка в файлах каталога',
        '{{count}} ошибки в файлах каталога',
        '{{count}} ошибок в файлах каталога',
      ],
    ],
    rows_left_out: [
      [
        '{{count}} model is left out of the catalog',
        '{{count}} models are left out of the catalog',
      ],
      [
        '{{count}} модель не попала в каталог',
        '{{count}} модели не попали в каталог',
        '{{count}} моделей не попали в каталог',
      ],
    ],
    models_stopped: [
      ['{{count}} model is stopped by an operator', '{{count}} models are stopped by an operator'],
      [
        '{{count}} модель снята с продажи оператором',
        '{{count}} модели сняты с продажи оператором',
        '{{count}} моделей снято с продажи оператором',
      ],
    ],
    costs_exceed_charges: [
      [
        '{{count}} model cost more than it earned in the last day. Raise its price or stop selling it',
        '{{count}} models cost more than they earned in the last day. Raise their prices or stop selling them',
      ],
      [
        '{{count}} модель за последний день обошлась дороже, чем принесла. Поднимите цену или снимите её с продажи',
        '{{count}} модели за последний день обошлись дороже, чем принесли. Поднимите цены или снимите их с продажи',
        '{{count}} моделей за последний день обошлись дороже, чем принесли. Поднимите цены или снимите их с продажи',
      ],
    ],
    sold_below_cost: [
      ['{{count}} model is priced below its cost', '{{count}} models are priced below their cost'],
      [
        '{{count}} модель продаётся дешевле своей себестоимости',
        '{{count}} модели продаются дешевле своей себестоимости',
        '{{count}} моделей продаются дешевле своей себестоимости',
      ],
    ],
  },
});
