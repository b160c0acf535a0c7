import { addTexts } from '../../i18n.ts';

addTexts('deposit', {
  title: ['Send USDT', 'Отправить USDT'],
  network: ['Network', 'Сеть'],
  network_text: [
    'Choose the same network in your wallet or at your exchange.',
    'Выберите ту же сеть в кошельке или на бирже.',
  ],
  address: ['Your address on {{network}}', 'Ваш адрес в сети {{network}}'],
  yours: [
    'It is yours for ever: send any amount at any time.',
    'Он ваш навсегда: отправляйте любую сумму в любое время.',
  ],
  warning: [
    'Send only {{token}}, and only on {{network}}. Anything else may be lost.',
    'Отправляйте только {{token}} в сети {{network}}. Другие токены и сети могут пропасть.',
  ],
  qr: ['QR code of the address', 'QR-код адреса'],
  minimum: ['Minimum', 'Не меньше'],
  credited: ['Credited', 'Зачисляется'],
  after_blocks: [
    ['after {{count}} block', 'after {{count}} blocks'],
    ['после {{count}} блока', 'после {{count}} блоков', 'после {{count}} блоков'],
  ],
  when_final: ['when the network calls it final', 'когда сеть назовёт блок окончательным'],
  about_seconds: [
    ['about {{count}} second', 'about {{count}} seconds'],
    ['примерно {{count}} секунда', 'примерно {{count}} секунды', 'примерно {{count}} секунд'],
  ],
  about_minutes: [
    ['about {{count}} minute', 'about {{count}} minutes'],
    ['примерно {{count}} минута', 'примерно {{count}} минуты', 'примерно {{count}} минут'],
  ],
  contract: ['Token contract', 'Контракт токена'],
  fees: [
    'Exchanges may take a fee. The amount that arrives is credited.',
    'Биржи могут удержать комиссию. Зачисляется то, что дошло.',
  ],
  play: ['Send me 25 test USDT', 'Прислать мне 25 пробных USDT'],
  play_text: [
    'The trial has a blockchain of its own. Nothing here is worth money.',
    'У пробной версии свой блокчейн. Денег здесь нет.',
  ],
  none: ['No deposit yet', 'Поступлений пока нет'],
  none_text: [
    'A deposit appears here a few seconds after it was sent.',
    'Поступление появится здесь через несколько секунд после отправки.',
  ],
  amount: ['Amount', 'Сумма'],
  state: ['State', 'Состояние'],
  when: ['When', 'Когда'],
  transaction: ['Transaction', 'Транзакция'],
  states: {
    seen: ['Seen', 'Замечено'],
    held: ['Being checked', 'Проверяется'],
    credited: ['Credited', 'Зачислено'],
    ignored: ['Not credited', 'Не зачислено'],
    dropped: ['Dropped by the network', 'Отброшено сетью'],
  },
  whys: {
    unconfirmed: ['A second source does not know it yet', 'Второй источник его ещё не знает'],
    review: ['The operator looks at it', 'Его проверяет оператор'],
    dust: ['Less than the minimum', 'Меньше минимума'],
    token: ['Another token', 'Другой токен'],
    operator: ['The operator has decided so', 'Так решил оператор'],
  },
  seen_of: [
    'Seen, {{confirmations}} of {{required}}',
    'Замечено, {{confirmations}} из {{required}}',
  ],
  explorer: ['Open in the explorer', 'Открыть в обозревателе'],
  renew: ['New address', 'Новый адрес'],
  renew_title: ['A new address on {{network}}?', 'Новый адрес в сети {{network}}?'],
  renew_text: [
    'This page will show a new address, also for the other networks that use the same address. The present address stays yours: deposits to it are still credited.',
    'Страница будет показывать новый адрес, и в сетях того же вида тоже. Нынешний адрес остаётся вашим: то, что придёт на него, тоже будет зачислено.',
  ],
});
