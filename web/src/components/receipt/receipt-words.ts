import { addWords } from '../../words.ts';

addWords('receipt', {
  en: {
    title: 'Receipt {{number}}',
    receipt: 'Receipt',
    print: 'Print',
    statement: 'Statement',
    from: 'Received by',
    to: 'Received from',
    amount: 'Amount',
    paid: 'Paid',
    issued: 'Receipt issued',
    way: 'Method',
    ways: { paid: 'Payment', chain: 'On-chain transfer' },
    network: 'Network',
    transaction: 'Transaction',
    reference: 'Reference',
    deposit: 'Deposit ID',
    explorer: 'Open in the explorer',
    prepaid:
      'This amount was added to the prepaid balance of the account. No tax is computed here: this receipt is not a tax invoice.',
    parity: '1 USDT counts as 1 USD.',
    bill_to:
      'Missing your company or tax id? An owner sets them for new receipts on the page Team.',
  },
  ru: {
    title: 'Квитанция {{number}}',
    receipt: 'Квитанция',
    print: 'Печать',
    statement: 'Выписка',
    from: 'Получил',
    to: 'Плательщик',
    amount: 'Сумма',
    paid: 'Оплачено',
    issued: 'Квитанция выдана',
    way: 'Способ',
    ways: { paid: 'Платёж', chain: 'Перевод в сети' },
    network: 'Сеть',
    transaction: 'Транзакция',
    reference: 'Назначение',
    deposit: 'Номер пополнения',
    explorer: 'Открыть в обозревателе',
    prepaid:
      'Сумма добавлена к предоплаченному балансу аккаунта. Налог здесь не рассчитан: эта квитанция не счёт-фактура.',
    parity: '1 USDT считается за 1 USD.',
    bill_to:
      'Не хватает компании или налогового номера? Владелец задаёт их для новых квитанций на странице «Команда».',
  },
});
