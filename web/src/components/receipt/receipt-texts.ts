import { addTexts } from '../../i18n.ts';

addTexts('receipt', {
  title: ['Receipt {{number}}', 'Квитанция {{number}}'],
  receipt: ['Receipt', 'Квитанция'],
  print: ['Print', 'Печать'],
  statement: ['Statement', 'Выписка'],
  from: ['Received by', 'Получил'],
  to: ['Received from', 'Плательщик'],
  amount: ['Amount', 'Сумма'],
  paid: ['Paid', 'Оплачено'],
  issued: ['Receipt issued', 'Квитанция выдана'],
  way: ['Method', 'Способ'],
  ways: {
    paid: ['Payment', 'Платёж'],
    chain: ['On-chain transfer', 'Перевод в сети'],
  },
  network: ['Network', 'Сеть'],
  reference: ['Reference', 'Назначение'],
  deposit: ['Deposit ID', 'Номер пополнения'],
  explorer: ['Open in the explorer', 'Открыть в обозревателе'],
  prepaid: [
    'This amount was added to the prepaid balance of the account. No tax is computed here: this receipt is not a tax invoice.',
    'Сумма добавлена к предоплаченному балансу аккаунта. Налог здесь не рассчитан: эта квитанция не счёт-фактура.',
  ],
  parity: ['1 USDT counts as 1 USD.', '1 USDT считается за 1 USD.'],
  bill_to: [
    'Missing your company or tax id? An owner sets them for new receipts on the page Team.',
    'Не хватает компании или налогового номера? Владелец задаёт их для новых квитанций на странице «Команда».',
  ],
});
