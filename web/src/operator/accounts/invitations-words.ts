import { addWords } from '../../words.ts';

addWords('operator_invitations', {
  en: {
    text: 'Links with which somebody signs up, with an account of their own. To let somebody into an account that is there, open that account.',
    mode: {
      open: 'Anybody may sign up now. An invitation only saves its bearer the proof of their address.',
      invite: 'Nobody signs up without an invitation.',
      closed:
        'Signing up is closed: invitations cannot be used to sign up until it is opened (FAREBOX_SIGN_UP).',
    },
    new: 'New invitation',
    email: 'E-mail address',
    email_hint: 'The link is good for this address only. Nobody is written to.',
    create: 'Make the link',
    once_title: 'Shown only now',
    once_text: 'Send it to {{email}}. It is good for 7 days.',
    until: 'Good until',
    withdraw: 'Withdraw',
    withdraw_title: 'Withdraw the invitation of {{email}}?',
    withdraw_text: 'Its link is worth nothing from then on.',
    withdrawn: 'The invitation is withdrawn.',
    none_title: 'No open invitation',
    none_text: 'Make one to let somebody in. It disappears here once it is accepted or over.',
  },
  ru: {
    text: 'Ссылки, по которым регистрируются с собственным аккаунтом. Чтобы впустить кого-то в существующий, откройте тот аккаунт.',
    mode: {
      open: 'Сейчас зарегистрироваться может любой. Приглашение лишь избавляет от подтверждения адреса.',
      invite: 'Без приглашения зарегистрироваться нельзя.',
      closed:
        'Регистрация закрыта: приглашения не действуют, пока её не откроют (FAREBOX_SIGN_UP).',
    },
    new: 'Новое приглашение',
    email: 'Эл. почта',
    email_hint: 'Ссылка действует только для этого адреса. Писем никто не получит.',
    create: 'Создать ссылку',
    once_title: 'Показано только сейчас',
    once_text: 'Отправьте её на {{email}}. Она действует 7 дней.',
    until: 'Действует до',
    withdraw: 'Отозвать',
    withdraw_title: 'Отозвать приглашение {{email}}?',
    withdraw_text: 'Его ссылка больше ничего не будет стоить.',
    withdrawn: 'Приглашение отозвано.',
    none_title: 'Открытых приглашений нет',
    none_text:
      'Создайте приглашение, чтобы кого-то впустить. Принятые и просроченные отсюда исчезают.',
  },
});
