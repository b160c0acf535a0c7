import { addWords } from '../../words.ts';

addWords('operator_invitations', {
  en: {
    text: 'Links to sign up with a new account. To invite somebody to an existing account, open that account.',
    mode: {
      open: 'Sign-up is open to everybody. Invited people skip e-mail verification.',
      invite: 'Signing up needs an invitation.',
      closed:
        'Sign-up is closed. Invitations cannot be used to sign up until you open it (FAREBOX_SIGN_UP).',
    },
    new: 'New invitation',
    email: 'E-mail address',
    email_hint: 'The link is valid for this address only. No mail is sent.',
    create: 'Create link',
    once_title: 'Shown only once',
    once_text: 'Send it to {{email}}. It is valid for 7 days.',
    until: 'Valid until',
    withdraw: 'Withdraw',
    withdraw_title: 'Withdraw the invitation of {{email}}?',
    withdraw_text: 'Its link stops working.',
    withdrawn: 'Invitation withdrawn.',
    none_title: 'No open invitations',
    none_text:
      'Create one to let somebody in. It disappears from this list once it is accepted or expired.',
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
    email_hint: 'Ссылка действует только для этого адреса. Письмо не отправляется.',
    create: 'Создать ссылку',
    once_title: 'Показано только сейчас',
    once_text: 'Отправьте её на {{email}}. Она действует 7 дней.',
    until: 'Действует до',
    withdraw: 'Отозвать',
    withdraw_title: 'Отозвать приглашение {{email}}?',
    withdraw_text: 'Его ссылка перестанет работать.',
    withdrawn: 'Приглашение отозвано.',
    none_title: 'Открытых приглашений нет',
    none_text:
      'Создайте приглашение, чтобы кого-то впустить. Принятые и просроченные отсюда исчезают.',
  },
});
