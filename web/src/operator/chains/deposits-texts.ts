import { addTexts } from '../../i18n.ts';

addTexts('operator_deposits', {
  text: [
    'Money that customers sent on blockchains. Held deposits wait for you or for a second endpoint.',
    'Деньги, которые клиенты прислали в блокчейнах. Задержанные поступления ждут вас или второй узел.',
  ],
  state: ['State', 'Состояние'],
  states: {
    held: ['Held', 'Задержаны'],
    credited: ['Credited', 'Зачислены'],
    ignored: ['Ignored', 'Не учтены'],
    all: ['All', 'Все'],
  },
  why: ['Reason', 'Причина'],
  any_why: ['Any reason', 'Любая причина'],
  why_short: {
    unconfirmed: ['Unconfirmed', 'Не подтверждено'],
    unmatched: ['No account', 'Нет аккаунта'],
    review: ['To be reviewed', 'На проверке'],
    dust: ['Too small', 'Слишком мало'],
    token: ['Other token', 'Другой токен'],
    operator: ['By an operator', 'Решил оператор'],
  },
  whys: {
    unconfirmed: ['An endpoint does not know it yet', 'Один из узлов его ещё не знает'],
    unmatched: ['No account has this address', 'Такого адреса нет ни у одного аккаунта'],
    review: ['Large, or perhaps credited by hand', 'Крупное или, возможно, проведено вручную'],
    dust: ['Below the minimum', 'Меньше минимума'],
    token: ['This token is not credited', 'Этот токен не зачисляется'],
    operator: ['An operator ignored it', 'Так решил оператор'],
  },
  chain: ['Chain', 'Сеть'],
  any_chain: ['All chains', 'Все сети'],
  find: ['Transaction hash', 'Хеш транзакции'],
  only_account: ['Only this account', 'Только этот аккаунт'],
  clear: ['Show all', 'Показать всё'],
  amount: ['Amount', 'Сумма'],
  no_account: ['none', 'нет'],
  found: ['Found', 'Найдено'],
  from_address: ['Sender', 'Отправитель'],
  block: ['Time of the block', 'Время блока'],
  credit: ['Credit', 'Зачислить'],
  credit_title: ['Credit this deposit?', 'Зачислить это поступление?'],
  credit_text: {
    unconfirmed: [
      'An endpoint does not know this transaction. Compare it with an explorer before you credit it. A credit cannot be undone.',
      'Один из узлов не знает этой транзакции. Сначала сверьте её с обозревателем. Зачисление нельзя отменить.',
    ],
    unmatched: [
      'No account has this address. Credit the deposit to the account that sent it. A credit cannot be undone.',
      'Такого адреса нет ни у одного аккаунта. Зачислите поступление аккаунту, который его отправил. Отменить это нельзя.',
    ],
    review: [
      'It is larger than your limit, or a booking by hand may already have credited it. A credit cannot be undone.',
      'Оно больше вашего порога, или его транзакцию называет проводка вручную. Зачисление нельзя отменить.',
    ],
    dust: [
      'It is smaller than the minimum of the chain. A credit cannot be undone.',
      'Оно меньше минимума сети. Зачисление нельзя отменить.',
    ],
    token: [
      'The chain file does not credit this token. The credit counts one token as one US dollar, and cannot be undone.',
      'Файл сети не зачисляет этот токен. При зачислении один токен считается за один доллар, и отменить это нельзя.',
    ],
    operator: [
      'An operator ignored it before. A credit cannot be undone.',
      'Раньше оператор решил его не учитывать. Зачисление нельзя отменить.',
    ],
  },
  account_wanted: ['E-mail address or id of the account', 'Почта или номер аккаунта'],
  other_payment: [
    'That booking was another payment: credit this one too',
    'То был другой платёж: зачислить и этот',
  ],
  reason: ['Reason', 'Причина'],
  reason_hint: ['Only the operator log shows it.', 'Видна только в журнале оператора.'],
  credited_now: ['The deposit is credited.', 'Поступление зачислено.'],
  ignore: ['Ignore', 'Не учитывать'],
  ignore_title: ['Ignore this deposit?', 'Не учитывать это поступление?'],
  ignore_text: [
    'It is not credited and no longer needs attention. You can still credit it later.',
    'Оно не будет зачислено и перестанет требовать внимания. Зачислить его можно и позже.',
  ],
  ignored_now: ['The deposit is ignored.', 'Поступление не учтено.'],
  none: {
    held_title: ['No deposit is held', 'Ничего не задержано'],
    held_text: [
      'Deposits that need a decision appear here.',
      'Здесь появятся поступления, по которым нужно решение.',
    ],
    credited_title: ['Nothing was credited yet', 'Пока ничего не зачислено'],
    credited_text: [
      'A deposit appears here once its block is final.',
      'Поступление появится здесь, когда его блок станет окончательным.',
    ],
    ignored_title: ['No deposit was ignored', 'Неучтённых поступлений нет'],
    ignored_text: [
      'Amounts below the minimum and tokens that are not credited appear here.',
      'Здесь появятся суммы меньше минимума и токены, которые не зачисляются.',
    ],
    all_title: ['No deposits yet', 'Поступлений пока нет'],
    all_text: [
      'A deposit appears here once its block is final.',
      'Поступление появится здесь, когда его блок станет окончательным.',
    ],
    nothing_title: ['No deposit matches', 'Ничего не найдено'],
    nothing_text: [
      'Change the filters, or paste the whole hash of the transaction.',
      'Измените фильтры или вставьте хеш транзакции целиком.',
    ],
  },
});
