import { addTexts } from '../../i18n.ts';

addTexts('team', {
  text: [
    'People who can use this account on the web pages, and their roles. API keys belong to the account and keep working when somebody leaves.',
    'Кто и для чего пользуется этим аккаунтом на страницах. Ключи API принадлежат аккаунту и работают дальше, когда кто-то уходит.',
  ],
  operator: [
    'Owners of this account are operators: they see all accounts and their money.',
    'Владельцы этого аккаунта управляют сервисом: они видят все аккаунты и их деньги.',
  ],
  members: ['People', 'Люди'],
  you: ['You', 'Вы'],
  two_factor: ['Authenticator app', 'Аутентификатор'],
  since: ['Since', 'С'],
  last_owner: ["last owner: can't be removed", 'у аккаунта остаётся хотя бы один владелец'],
  role: ['Role', 'Роль'],
  role_of: ['Role of {{name}}', 'Роль: {{name}}'],
  roles: ['Rights of each role', 'Что могут роли'],
  may: {
    owner: [
      'Everything, including keys, money and people.',
      'Всё: ключи, деньги и состав аккаунта.',
    ],
    developer: [
      'Creates keys and webhooks, runs models in the studio. Views money.',
      'Создаёт ключи и вебхуки, запускает модели в студии. Деньги видит, но не распоряжается ими.',
    ],
    billing: [
      'Tops up, redeems vouchers, sets alerts. Views keys and requests.',
      'Пополняет счёт, активирует ваучеры, настраивает оповещения. Ключи и запросы видит, но не меняет.',
    ],
    read_only: ['Views everything, changes nothing.', 'Видит всё, ничего не меняет.'],
  },
  invite: ['Invite', 'Пригласить'],
  invite_title: ['Invite somebody', 'Пригласить человека'],
  email: ['E-mail address', 'Эл. почта'],
  link_text: [
    'Send this link only to {{email}}: anyone who has it can join with that address.',
    'Отправьте эту ссылку на {{email}} и никому больше: с ней под этим адресом может войти любой.',
  ],
  link_mailed: [
    'We sent the invitation to {{email}}. You can also send this link yourself.',
    'Приглашение уже идёт на {{email}}. Ссылку можно отправить и самостоятельно.',
  ],
  link_once: [
    'The link is shown only once. It can be used once, within seven days.',
    'Ссылка показана сейчас и больше никогда. Она действует семь дней, один раз.',
  ],
  invited: ['Invited', 'Приглашены'],
  good_until: ['Valid until', 'Действует до'],
  withdraw: ['Withdraw', 'Отозвать'],
  leave: ['Leave', 'Выйти'],
  leave_title: ['Leave the account', 'Выйти из аккаунта'],
  leave_text: [
    'You will lose access to {{account}}. You need a new invitation to return.',
    'Вы потеряете доступ к {{account}}. Вернуться можно только по новому приглашению.',
  ],
  leave_action: ['Leave', 'Выйти'],
  remove_title: ['Remove from the account', 'Удалить из аккаунта'],
  remove_text: [
    "{{name}} will lose access to {{account}}. The account's keys keep working.",
    '{{name}} потеряет доступ к {{account}}. Ключи аккаунта продолжат работать.',
  ],
  remove_action: ['Remove', 'Удалить'],
  demote_title: ['Give up the owner role', 'Перестать быть владельцем'],
  demote_text: [
    'Only another owner of {{account}} can make you an owner again.',
    'Вернуть эту роль сможет только другой владелец {{account}}.',
  ],
  demote_action: ['Change my role', 'Сменить мою роль'],
  account_name: ['Account name', 'Название аккаунта'],
  account_name_text: [
    'Shown in the account menu and in invitations.',
    'Видно при выборе аккаунта и в приглашениях.',
  ],
  name_saved: ['Account name saved.', 'Название сохранено.'],
  billed_to: ['On receipts', 'На квитанциях'],
  billed_to_label: ['Company, address and tax id', 'Компания, адрес и налоговый номер'],
  billed_to_text: [
    'Added below the account name on new receipts. Receipts that were issued stay as they are.',
    'Добавляется под названием аккаунта на новых квитанциях. Выданные квитанции не меняются.',
  ],
  save_billed_to: ['Save for receipts', 'Сохранить для квитанций'],
  billed_to_saved: ['Saved for new receipts.', 'Сохранено для новых квитанций.'],
});
