import { addTexts } from '../i18n.ts';

addTexts('entry', {
  sign_in: ['Sign in', 'Войти'],
  sign_up: ['Create an account', 'Создать аккаунт'],
  name: ['Your name', 'Ваше имя'],
  email: ['E-mail address', 'Эл. почта'],
  password: ['Password', 'Пароль'],
  password_hint: ['At least {{min}} characters', 'Не меньше {{min}} символов'],
  new_password: ['New password', 'Новый пароль'],
  forgot: ['Forgot your password?', 'Забыли пароль?'],
  no_account: ['No account yet?', 'Ещё нет аккаунта?'],
  have_account: ['Already have an account?', 'Уже есть аккаунт?'],
  passkey: ['Sign in with a passkey', 'Войти с ключом доступа'],
  or: ['or', 'или'],
  send_again: ['Send the link again', 'Отправить ссылку ещё раз'],
  confirmed: [
    'Your e-mail address is confirmed. Sign in with your password.',
    'Адрес почты подтверждён. Войдите со своим паролем.',
  ],
  closed: [
    'Sign-up is closed. Ask the operator for an account.',
    'Регистрация закрыта. Попросите аккаунт у оператора.',
  ],
  invite_only: [
    'You need an invitation to sign up. Ask the operator for one.',
    'Для регистрации нужно приглашение. Попросите его у оператора.',
  ],
  check_mail: [
    'If the address is not taken, we have sent a link to {{email}}. Open it to finish.',
    'Если адрес свободен, на {{email}} уже идёт ссылка. Откройте её, чтобы закончить.',
  ],
  check_mail_title: ['Check your mail', 'Проверьте почту'],
  code: ['Six-digit code', 'Код из шести цифр'],
  code_text: [
    'Enter the code from your authenticator app.',
    'Откройте приложение-аутентификатор и введите код, который оно показывает.',
  ],
  backup: ['Use a backup code', 'Ввести резервный код'],
  backup_code: ['Backup code', 'Резервный код'],
  use_app: ['Use the app', 'Ввести код из приложения'],
  trust: ['Trust this device for 30 days', 'Не спрашивать на этом устройстве 30 дней'],
  verify: ['Continue', 'Продолжить'],
  forgot_title: ['Reset your password', 'Сброс пароля'],
  forgot_text: [
    'Enter your e-mail address. If it has an account, we send a link there.',
    'Введите адрес. Если с ним кто-то входит, туда придёт ссылка.',
  ],
  forgot_operator: [
    'This service does not send mail. Ask its operator for a link to set a new password.',
    'Этот сервис не отправляет писем. Попросите у оператора ссылку для нового пароля.',
  ],
  send_link: ['Send the link', 'Отправить ссылку'],
  link_sent: [
    'If {{email}} has an account, we have sent it a link.',
    'Если с адресом {{email}} кто-то входит, ссылка уже в пути.',
  ],
  reset_title: ['Set a new password', 'Новый пароль'],
  reset_bad: [
    'This link has been used or has expired. Request a new one.',
    'Ссылка использована или устарела. Запросите другую.',
  ],
  reset_done: [
    'Your new password is set. Sign in with it.',
    'Новый пароль установлен. Войдите с ним.',
  ],
  confirm_title: ['Confirm your address', 'Подтвердите адрес'],
  confirm_text: [
    'You signed up with this e-mail address. Confirm that it is yours.',
    'Вы открыли аккаунт с этим адресом. Подтвердите, что он ваш.',
  ],
  confirm_action: ['Confirm', 'Подтвердить'],
  confirm_old: [
    'This link no longer works. Sign in with your password to get a new one.',
    'Эта ссылка больше не действует. Войдите с паролем, чтобы получить новую.',
  ],
  holder_text: [
    'You opened this link in another browser. Enter your password as well. If you did not ask for this, do nothing.',
    'Ссылка открыта в другом браузере. Введите и пароль. Если вы об этом не просили, ничего не делайте.',
  ],
  email_title: ['Your new e-mail address', 'Новый адрес почты'],
  email_text: [
    'You asked to change your e-mail address to this one. Confirm the change.',
    'Вы попросили входить с этим адресом. Подтвердите, чтобы сменить его.',
  ],
  email_confirm: ['Use this address', 'Входить с этим адресом'],
  email_done: [
    'You now sign in with {{email}}. Your other browsers are signed out.',
    'Теперь вы входите с адресом {{email}}. В других браузерах нужно войти снова.',
  ],
  invited: ['You are invited', 'Вас пригласили'],
  invited_to: [
    'You are invited to {{account}} as {{role}}.',
    'Вас пригласили в {{account}}, роль: {{role}}.',
  ],
  invited_alone: [
    'You are invited to create an account here.',
    'Вас пригласили открыть здесь аккаунт.',
  ],
  accept: ['Accept', 'Принять'],
  sign_in_first: [
    'Sign in as {{email}} to accept, or create your account.',
    'Чтобы принять, войдите как {{email}} или создайте аккаунт.',
  ],
  signed_in_as: [
    'You are signed in as {{me}}, but this invitation is for {{email}}.',
    'Вы вошли как {{me}}, а приглашение для {{email}}.',
  ],
  sign_out_first: ['Sign out', 'Выйти'],
  to_dashboard: ['Go to the dashboard', 'В кабинет'],
  closed_invited: [
    'Sign-up is closed, but you can accept with an existing account.',
    'Регистрация закрыта, но приглашение можно принять с имеющимся аккаунтом.',
  ],
  taken: [
    'Could not sign you in. If this address already has an account, use its password or reset it.',
    'Войти не удалось. Если у вас уже есть аккаунт с этим адресом, введите его пароль или сбросьте его.',
  ],
  models: ['Models and prices', 'Модели и цены'],
  tagline: [
    'One key, one balance, every model. The price is fixed before the job starts.',
    'Один ключ, один баланс, все модели. Цена известна до запуска.',
  ],
});
