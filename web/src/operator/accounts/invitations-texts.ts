import { addTexts } from '../../i18n.ts';

addTexts('operator_invitations', {
  text: [
    'Links to sign up with a new account. To invite somebody to an existing account, open that account.',
    'Ссылки, по которым регистрируются с собственным аккаунтом. Чтобы впустить кого-то в существующий, откройте тот аккаунт.',
  ],
  mode: {
    open: [
      'Sign-up is open to everybody. Invited people skip e-mail verification.',
      'Сейчас зарегистрироваться может любой. Приглашение лишь избавляет от подтверждения адреса.',
    ],
    invite: ['Signing up needs an invitation.', 'Без приглашения зарегистрироваться нельзя.'],
    closed: [
      'Sign-up is closed. Invitations cannot be used to sign up until you open it (FAREBOX_SIGN_UP).',
      'Регистрация закрыта: приглашения не действуют, пока её не откроют (FAREBOX_SIGN_UP).',
    ],
  },
  new: ['New invitation', 'Новое приглашение'],
  email: ['E-mail address', 'Эл. почта'],
  email_hint: [
    'The link is valid for this address only. No mail is sent.',
    'Ссылка действует только для этого адреса. Письмо не отправляется.',
  ],
  create: ['Create link', 'Создать ссылку'],
  once_title: ['Shown only once', 'Показано только сейчас'],
  once_text: [
    'Send it to {{email}}. It is valid for 7 days.',
    'Отправьте её на {{email}}. Она действует 7 дней.',
  ],
  until: ['Valid until', 'Действует до'],
  renew: ['New link', 'Новая ссылка'],
  renew_title: ['New link for {{email}}', 'Новая ссылка для {{email}}'],
  renew_text: [
    'A link is shown only once. The new one replaces the earlier one, which stops working.',
    'Ссылка видна только один раз. Новая заменит прежнюю, и та перестанет работать.',
  ],
  withdraw: ['Withdraw', 'Отозвать'],
  withdraw_title: ['Withdraw the invitation of {{email}}?', 'Отозвать приглашение {{email}}?'],
  withdraw_text: ['Its link stops working.', 'Его ссылка перестанет работать.'],
  withdrawn: ['Invitation withdrawn.', 'Приглашение отозвано.'],
  none_title: ['No open invitations', 'Открытых приглашений нет'],
  none_text: [
    'Create one to let somebody in. It disappears from this list once it is accepted or expired.',
    'Создайте приглашение, чтобы кого-то впустить. Принятые и просроченные отсюда исчезают.',
  ],
});
