import { ApiFailure } from './api.ts';
import { messageOf } from './components/Failure.tsx';
import { addTexts, useTranslation } from './i18n.ts';

/** The text for an error of the sign-in library, which answers with codes. */
export function useAuthFailure(): (error: unknown) => string {
  const { t } = useTranslation('auth');
  return (error) => {
    if (error instanceof ApiFailure) {
      const { reason } = error;
      const told = reason !== null && t(`auth:${reason}`, { defaultValue: '' });
      if (told) return told;
      if (error.status === 429) return t('too_many');
    }
    // The user declined the browser's passkey prompt.
    if (error instanceof Error && error.name === 'NotAllowedError') return t('passkey_stopped');
    if (error instanceof Error && error.name === 'InvalidStateError') return t('passkey_known');
    return messageOf(error);
  };
}

addTexts('auth', {
  too_many: [
    'Too many attempts. Wait a few minutes, then try again.',
    'Слишком много попыток. Подождите несколько минут и повторите.',
  ],
  INVALID_EMAIL_OR_PASSWORD: ['E-mail address or password is wrong.', 'Неверный адрес или пароль.'],
  INVALID_EMAIL: ['Enter a valid e-mail address.', 'Это не адрес электронной почты.'],
  INVALID_PASSWORD: ['The password is wrong.', 'Неверный пароль.'],
  PASSWORD_TOO_SHORT: ['The new password is too short.', 'Новый пароль слишком короткий.'],
  PASSWORD_TOO_LONG: ['The new password is too long.', 'Новый пароль слишком длинный.'],
  EMAIL_NOT_VERIFIED: [
    'Confirm your e-mail address first: we have sent you a link.',
    'Сначала подтвердите почту: мы отправили вам ссылку.',
  ],
  INVALID_CODE: [
    'That code is wrong or expired. Enter the one the app shows now.',
    'Код неверен или устарел. Введите тот, который приложение показывает сейчас.',
  ],
  INVALID_BACKUP_CODE: [
    'That backup code is wrong or already used.',
    'Резервный код неверен или уже использован.',
  ],
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: [
    'Too many wrong codes. Start signing in again.',
    'Слишком много неверных кодов. Начните вход заново.',
  ],
  ACCOUNT_TEMPORARILY_LOCKED: [
    'Too many wrong codes. Wait 15 minutes, then try again.',
    'Слишком много неверных кодов. Подождите четверть часа.',
  ],
  INVALID_TWO_FACTOR_COOKIE: [
    'That took too long. Start signing in again.',
    'Прошло слишком много времени. Начните вход заново.',
  ],
  TOTP_ALREADY_ENABLED: [
    'An authenticator app is already set up.',
    'Приложение-аутентификатор уже подключено.',
  ],
  SESSION_NOT_FRESH: [
    'This needs a sign-in within the last hour. Sign out and sign in again.',
    'Для этого нужно было войти не больше часа назад. Выйдите и войдите снова.',
  ],
  INVALID_TOKEN: [
    'This link has been used or has expired. Request a new one.',
    'Ссылка использована или устарела. Запросите другую.',
  ],
  TOKEN_EXPIRED: [
    'This link has expired. Sign in to get a new one.',
    'Ссылка устарела. Войдите, чтобы получить новую.',
  ],
  HOLDER_NOT_VERIFIED: [
    'The passkey did not verify you. Set up a PIN or a fingerprint on the device.',
    'Ключ доступа не подтвердил, что это вы. Настройте на устройстве PIN или отпечаток.',
  ],
  PASSKEY_NOT_FOUND: [
    'This passkey is not registered here. Sign in with your password.',
    'Этот ключ доступа здесь неизвестен. Войдите с паролем.',
  ],
  AUTHENTICATION_FAILED: [
    'The passkey did not sign you in. Try again, or use your password.',
    'Войти с ключом доступа не удалось. Повторите или введите пароль.',
  ],
  CHALLENGE_NOT_FOUND: [
    'That took too long. Try again.',
    'Прошло слишком много времени. Повторите.',
  ],
  FAILED_TO_VERIFY_REGISTRATION: [
    'The passkey could not be added. Try again.',
    'Добавить ключ доступа не удалось. Повторите.',
  ],
  PROVIDER_NOT_FOUND: [
    'The identity provider is not responding. Try again later.',
    'Служба входа не отвечает. Повторите позже.',
  ],
  passkey_stopped: [
    'The browser did not return a passkey: you cancelled, or it has none for this site.',
    'Браузер не получил ключ доступа: запрос остановлен или ключа для этого сайта нет.',
  ],
  passkey_known: [
    'This device already has a passkey for this site.',
    'На этом устройстве уже есть ваш ключ доступа для этого сайта.',
  ],
  account_not_linked: [
    'This address already uses another sign-in method. Use that one; single sign-on works only after the identity provider has confirmed the address.',
    'С этим адресом уже входят другим способом. Войдите так же; единый вход заработает, только когда служба входа подтвердит адрес.',
  ],
  sign_up_closed: [
    'You have no account here. Ask for an invitation.',
    'Для вас здесь нет аккаунта. Попросите приглашение.',
  ],
  email_not_found: [
    'The identity provider does not share your e-mail address.',
    'Служба входа не сообщает ваш адрес почты.',
  ],
  email_invalid: [
    'The identity provider gives an e-mail address that cannot be used here.',
    'Служба входа сообщает адрес почты, который здесь использовать нельзя.',
  ],
  access_denied: ['The identity provider denied the sign-in.', 'Служба входа отказала во входе.'],
  state_mismatch: [
    'That took too long, or started in another browser. Try again.',
    'Прошло слишком много времени, или вход начат в другом браузере. Повторите.',
  ],
  state_not_found: [
    'That took too long, or started in another browser. Try again.',
    'Прошло слишком много времени, или вход начат в другом браузере. Повторите.',
  ],
  please_restart_the_process: [
    'That took too long, or started in another browser. Try again.',
    'Прошло слишком много времени, или вход начат в другом браузере. Повторите.',
  ],
  unable_to_get_user_info: [
    'The identity provider did not share your profile. Try again later.',
    'Служба входа не сообщила, кто вы. Повторите позже.',
  ],
  unable_to_create_user: [
    'Your account could not be created. Try again later.',
    'Не удалось создать аккаунт. Повторите позже.',
  ],
  invalid_code: [
    'The identity provider did not confirm the sign-in. Try again.',
    'Служба входа не подтвердила вход. Повторите.',
  ],
});
