import { addTexts } from '../../i18n.ts';

addTexts('operator_chains', {
  text: [
    'The blockchains on which customers pay: how far each is read, and what came in.',
    'Блокчейны, в которых платят клиенты: докуда прочитан каждый и сколько поступило.',
  ],
  play: ['inside the trial', 'внутри пробной версии'],
  name: ['{{name}}, chain {{id}}', '{{name}}, сеть {{id}}'],
  state: {
    read: ['Up to date', 'Прочитан'],
    starting: ['Starting', 'Начинаем читать'],
    retrying: ['Retrying', 'Пробуем снова'],
    behind: ['Behind', 'Отстаёт'],
    refused: ['Wrong setting', 'Неверная настройка'],
    stopped: ['Stopped', 'Остановлен'],
    not_set_up: ['Not set up', 'Не настроен'],
  },
  head: ['Newest block', 'Новейший блок'],
  scanned: ['Read up to', 'Прочитано до'],
  behind_by: [
    ['{{count}} block behind', '{{count}} blocks behind'],
    ['отставание {{count}} блок', 'отставание {{count}} блока', 'отставание {{count}} блоков'],
  ],
  lag: ['Age of that block', 'Возраст этого блока'],
  lag_note: [
    'the time until it was final, and our delay',
    'время до окончательности и наша задержка',
  ],
  read_at: ['Last read', 'Последнее чтение'],
  next: ['next:', 'следующее:'],
  never: ['never', 'не было'],
  endpoints: ['Endpoints', 'Узлы'],
  single: ['a second one would confirm each deposit', 'второй подтверждал бы каждое поступление'],
  held: ['Held deposits', 'Ждут решения'],
  problem: {
    stopped: [
      'Stopped, because a final block was replaced: {{said}}. Compare that block with an explorer. Then resume the reading from its height.',
      'Чтение остановлено: окончательный блок заменён ({{said}}). Сверьте этот блок с обозревателем и возобновите чтение с его высоты.',
    ],
    refused: [
      'No address is shown until this is corrected: {{said}}',
      'Адреса не показываются, пока это не исправлено: {{said}}',
    ],
    key_differs: [
      'The configured xpub differs from the stored one, so no address is shown. Restore the former xpub; after a change on purpose, run farebox deposit rotate. If none of you changed it, somebody else may have.',
      'Заданный xpub не совпадает с сохранённым, поэтому адреса не показываются. Верните прежний xpub; если вы сменили его намеренно, выполните farebox deposit rotate. Если его не менял никто из вас, это мог сделать посторонний.',
    ],
    not_set_up: [
      'This chain was read before, but no endpoint is set for it now.',
      'Эту сеть читали раньше, но сейчас для неё не задан ни один узел.',
    ],
    rescan: [
      'Still to be read again: blocks {{from}} to {{to}}.',
      'Читаются заново: осталось с {{from}} по {{to}}.',
    ],
    rescan_late: [
      'Each block is read a second time after an hour, to find deposits that were missed. The second reading has reached only block {{rescanned}}. The log says why it fails.',
      'Через час каждый блок читается второй раз, чтобы найти пропущенные поступления. Второе чтение дошло только до блока {{rescanned}}. Причина ошибок указана в логе.',
    ],
    failures: [
      ['{{count}} read failed: {{said}}', '{{count}} reads in a row failed: {{said}}'],
      [
        'Не удалось {{count}} чтение: {{said}}',
        'Не удались {{count}} чтения подряд: {{said}}',
        'Не удались {{count}} чтений подряд: {{said}}',
      ],
    ],
  },
  resume: ['Resume', 'Возобновить'],
  resume_title: ['Resume {{title}}?', 'Возобновить чтение {{title}}?'],
  resume_text: [
    'Compare the block with an explorer first. Deposits that were credited stay credited, and none is credited twice.',
    'Сначала сверьте блок с обозревателем. Зачисленное остаётся зачисленным, и ничего не зачислится дважды.',
  ],
  resume_from: [
    'The height of the replaced block. If empty, reading continues where it stopped.',
    'Высота заменённого блока. Без неё чтение продолжится с того же места.',
  ],
  resume_now: ['The chain is read again.', 'Чтение возобновлено.'],
  rescan: ['Read again', 'Прочитать заново'],
  rescan_title: ['Read {{title}} again?', 'Прочитать {{title}} заново?'],
  rescan_text: [
    'This finds deposits that an endpoint left out, and those from before the chain was set up. New blocks are read as well, and no deposit is credited twice.',
    'Так находятся поступления, которые узел пропустил, и те, что пришли до настройки сети. Новые блоки тоже читаются, и ничего не зачислится дважды.',
  ],
  rescan_to: [
    'If empty, the newest block that was read.',
    'Если не указать, до новейшего прочитанного блока.',
  ],
  rescan_now: ['The blocks are read again.', 'Блоки читаются заново.'],
  to: ['To block', 'По блок'],
  from: ['From block', 'С блока'],
  bad_height: ['A whole number', 'Целое число'],
  sums: ['Credited so far', 'Зачислено за всё время'],
  sums_text: [
    'The credited deposits of each chain, beside the deposits from that chain in the ledger.',
    'Зачисленные поступления каждой сети рядом с поступлениями из неё в книгах.',
  ],
  no_sums: ['Nothing was credited from a chain yet.', 'Из блокчейнов пока ничего не зачислено.'],
  chain: ['Chain', 'Сеть'],
  deposits: [
    ['{{count}} deposit', '{{count}} deposits'],
    ['{{count}} поступление', '{{count}} поступления', '{{count}} поступлений'],
  ],
  on_chain: ['On the chain', 'В сети'],
  in_ledger: ['In the ledger', 'В книгах'],
  compared: ['Comparison', 'Сверка'],
  equal: ['Equal', 'Сходится'],
  differs: ['They differ', 'Расходится'],
  counts: [
    '{{chain}} on the chain, {{ledger}} in the ledger',
    'в сети {{chain}}, в книгах {{ledger}}',
  ],
  none_title: ['No chain is set up', 'Ни одна сеть не настроена'],
  none_text: [
    'To take USDT, set an xpub (FAREBOX_XPUB_EVM or FAREBOX_XPUB_TRON) and the endpoints of a chain, such as FAREBOX_RPC_TRON.',
    'Чтобы принимать USDT, задайте xpub (FAREBOX_XPUB_EVM или FAREBOX_XPUB_TRON) и узлы сети, например FAREBOX_RPC_TRON.',
  ],
});
