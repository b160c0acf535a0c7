import { faultsIn } from '../api.ts';
import { formatUsd } from '../money.ts';

/** An error of the service, or one that the pages raise themselves. */
export interface ServiceFault {
  code: string;
  message: string;
  param?: string | null;
  details?: Record<string, unknown>;
}

type Facts = Record<string, unknown>;

/**
 * The Russian text for an error; null if there is none, for example for the code of a newer
 * service.
 */
export function inRussian({ code, message, param, details = {} }: ServiceFault): string | null {
  const [fault] = faultsIn(details);
  const wrong = fault && inRussian(fault);
  const facts = { ...details, message, param, wrong, rule: ruleIn(details) };
  return firstOf([sentences[String(details.reason)] ?? [], sentences[code] ?? []].flat(), facts);
}

/** The first form whose values are all known, with the values filled in. */
function firstOf(forms: string[], facts: Facts): string | null {
  return forms.map((form) => fillIn(form, facts)).find((text) => text !== null) ?? null;
}

function fillIn(form: string, facts: Facts): string | null {
  const isWhole = [...form.matchAll(placeholder)].every(
    ([, name]) => (facts[name!] ?? null) !== null,
  );
  return isWhole
    ? form.replaceAll(placeholder, (_, name: string) => formatValue(name, facts[name]))
    : null;
}

const placeholder = /\{(\w+)\}/g;

function formatValue(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (name.endsWith('_usd_micro')) return `$${formatUsd(String(value))}`;
  if (name.endsWith('_at')) return new Date(String(value)).toLocaleString('ru');
  return typeof value === 'number' ? value.toLocaleString('ru') : String(value);
}

/** A rule for a value, such as "целое число от 1 до 9". */
function ruleIn(limits: Facts): string | null {
  if (limits.one_of) return fillIn('одно из: {one_of}', limits);
  const kind = kinds[String(limits.format)] ?? kinds[String(limits.type)];
  const bounds = firstOf(ranges, limits);
  return [kind, bounds].filter(Boolean).join(' ') || null;
}

const kinds: Record<string, string> = {
  array: 'список',
  boolean: 'true или false',
  integer: 'целое число',
  number: 'число',
  object: 'объект',
  string: 'текст',
  'date-time': 'время с часовым поясом, например 2027-01-31T00:00:00.000Z',
  moment: 'дата или время с часовым поясом, например 2026-01-31T00:00:00Z',
  uri: 'адрес',
  usd_micro: 'целое число микродолларов',
  uuid: 'id',
};

const ranges = [
  'от {minimum} до {maximum}',
  'больше {exclusive_minimum} и не больше {maximum}',
  'не меньше {minimum}',
  'не больше {maximum}',
  'больше {exclusive_minimum}',
  'меньше {exclusive_maximum}',
  'с шагом {multiple_of}',
  'длиной от {min_length} до {max_length} знаков',
  'длиной не меньше {min_length} знаков',
  'длиной не больше {max_length} знаков',
  'длиной от {min_items} до {max_items}',
  'длиной не меньше {min_items}',
  'длиной не больше {max_items}',
  'не больше {maximum_pixels} пикселей',
];

/**
 * Texts by error code or reason. If there are several forms, the first whose values are all known
 * is used.
 */
export const sentences: Record<string, string | string[]> = {
  // Errors that the pages raise themselves.
  unreachable: 'Сервис недоступен. Проверьте соединение и повторите.',
  field: ['Ожидается {rule}.', 'Значение не подходит: «{message}»'],

  // Codes of errors.
  bad_request: ['{param}: ожидается {rule}.', 'Запрос не принят: «{message}»'],
  unknown_model: ['Такой модели нет. Может быть, {did_you_mean}?', 'Такой модели нет.'],
  unpriceable: [
    '{param}: всего {megapixels} мегапикселей, а можно не больше {maximum}.',
    '{param}: цена выше {maximum_price_usd_micro}, а больше один запрос стоить не может.',
    '{param}: ожидается размер до {maximum_side} пикселей по стороне или {rule}.',
    '{param}: ожидается {rule}.',
    'По этим данным нельзя посчитать цену: «{message}»',
  ],
  invalid_input: [
    'Ввод не подходит модели, поле {param}. {wrong}',
    'Ввод не подходит модели: «{message}»',
  ],
  bad_webhook_url: [
    '{param}: нужен полный публичный адрес ({schemes}) без пробелов, имени пользователя и пароля.',
    'Адрес вебхука не подходит: «{message}»',
  ],
  bad_messages: ['{param}: ожидается {rule}.', 'Сообщения не подходят: «{message}»'],
  context_length_exceeded: 'Сообщения длиннее, чем принимает модель. Сократите их.',
  use_chat_completions: 'Это текстовая модель: её вызывают через POST /v1/chat/completions.',
  unauthorized: 'Сначала войдите.',
  insufficient_balance: [
    'Нужен резерв {required_usd_micro}, а доступно {available_usd_micro}. Пополните баланс и отправьте запрос снова.',
    'На балансе не хватает денег. Пополните его и отправьте запрос снова.',
  ],
  key_limit_reached: [
    'Нужен резерв {required_usd_micro}, а месячный лимит ключа {limit_usd_micro}, из него занято {spent_usd_micro}. Поднимите лимит в кабинете или возьмите другой ключ.',
    'Месячный лимит ключа исчерпан. Поднимите его в кабинете или возьмите другой ключ.',
  ],
  forbidden: [
    'Этому ключу доступны только модели: {models}. Возьмите другой ключ или разрешите в кабинете.',
    'Это вам не разрешено.',
  ],
  not_found: 'В этом аккаунте такого нет.',
  method_not_allowed: 'Этот адрес не принимает такой метод.',
  idempotency_conflict:
    'Этот Idempotency-Key уже использован с другим вызовом. Для нового запроса нужен новый ключ.',
  request_not_ready: 'Запрос ещё не завершён, или у него нет результата.',
  not_cancellable:
    'Отменить можно запрос в очереди. С ?running=true можно остановить и выполняемый, если у модели есть on_cancel.',
  expired: 'Этот результат уже удалён.',
  payload_too_large: [
    'Слишком много данных: можно не больше {max_bytes} байт.',
    'Файлы аккаунта могут занимать {max_bytes_in_all} байт, занято {used_bytes}: этот не помещается.',
    'Слишком много данных.',
  ],
  unsupported_media_type:
    'Файлы такого вида не принимаются. Можно: изображения, видео, звук, PDF и простой текст в UTF-8.',
  rate_limited: [
    'Можно делать {limit} вызовов в минуту. Подождите {resets_in_seconds} с.',
    'Открытых заданий у ключа: {open_jobs_limit}, больше нельзя. Дождитесь конца одного или отмените его.',
    'Открытых заданий у аккаунта: {account_open_jobs_limit}, больше нельзя. Дождитесь конца одного или отмените его.',
    'Одновременно можно вести не больше {open_chats_limit} чатов. Дождитесь конца одного из них.',
    'Одновременно можно загружать не больше {open_uploads_limit} файлов. Дождитесь конца одной загрузки.',
    'Отменить можно не больше {account_cancels_limit} заданий в час. Это задание продолжается; отмените его позже.',
    'За день (UTC) аккаунт может отправить {account_bytes_a_day} байт ввода, и этот уже не помещается. Загрузите большие файлы отдельно или продолжите завтра.',
    'Слишком много вызовов. Подождите немного и повторите.',
  ],
  internal_error: 'В сервисе что-то сломалось. Повторите; если не пройдёт, сообщите оператору.',
  submit_failed: 'Модель не приняла запрос. Деньги не списаны.',
  capacity_unavailable: 'Сейчас нет свободных мест. Деньги не списаны; повторите позже.',

  // Codes of failed requests. The upstream's message is not translated.
  upstream_rejected: 'Модель отклонила ввод: «{message}»',
  upstream_failed: 'Модель не смогла сгенерировать результат: «{message}»',
  timeout: 'Генерация заняла больше времени, чем отведено этой модели.',
  output_too_large: 'Результат больше, чем хранит сервис.',
  outcome_unknown: 'Связь с моделью прервалась, и исход узнать не удалось.',
  output_unusable: 'Модель вернула результат, который нельзя использовать.',

  // Reasons of failed requests.
  damaged: 'Модель вернула повреждённый файл.',
  not_fetched: 'Модель закончила, но её результат не удалось получить.',
  not_media: 'Модель вернула файл, который не является изображением, видео или аудио.',

  // Reasons: the account and its people.
  access_over: 'Вы вышли или больше не состоите в этом аккаунте.',
  account_had: 'Вы уже состоите в аккаунте.',
  accounts_too_many: 'Один человек может состоять не больше чем в {limit} аккаунтах.',
  account_share:
    'Другие вызовы аккаунта заняли его долю этого сервера. Ничего не списано; делайте меньше таких вызовов сразу и повторите позже.',
  account_suspended: 'Аккаунт приостановлен. Обратитесь к оператору.',
  account_unknown: 'Такого аккаунта нет.',
  email_invalid:
    'Такой адрес почты использовать нельзя. Нужны имя из букв одной письменности, @ и домен, без пробелов и невидимых знаков.',
  email_same: 'Это уже ваш адрес.',
  email_taken: 'Адрес {email} уже занят.',
  invitation_closed: 'Приглашение уже принято или отозвано.',
  invitation_gone: 'Приглашение использовано или больше не действует. Попросите новое.',
  invitation_needed: 'Аккаунты здесь открывают по приглашению. Попросите его у оператора.',
  invitation_of_other: 'Это приглашение для другого адреса.',
  link_gone: 'Ссылка использована или устарела. Запросите другую.',
  mail_off: 'Этот сервис не отправляет писем. Попросите оператора сменить адрес.',
  member_already: '{email} уже в этом аккаунте.',
  member_unknown: 'Этот человек не состоит в аккаунте.',
  name_invalid: 'В имени должно быть от 1 до {max_length} знаков в одну строку, без невидимых.',
  origin_foreign: 'Страница открыта по чужому адресу. Откройте её по адресу этого сервиса.',
  operator_account:
    'Аккаунт и людей, которые управляют сервисом, меняет в консоли только его владелец, а не ключ.',
  operator_key_revoked: 'Такого действующего ключа оператора нет: он уже отозван.',
  operator_keys_too_many: 'Ключей оператора может быть не больше {limit}. Сначала отзовите один.',
  banner_invalid: 'Объявление — простой текст до {max_length} знаков, без невидимых.',
  account_not_operator: 'Роль в консоли есть только у людей операторского аккаунта.',
  key_signs_in: 'Ключ не может сменить адрес, с которым человек входит. Сделайте это в консоли.',
  operator_role_too_low:
    'Ваша роль оператора ({role}) этого не позволяет. Обратитесь к владельцу сервиса.',
  person_last:
    '{email} — единственный человек в аккаунте {account}: войти в него будет некому. Сначала пригласите другого.',
  own_console: 'Так вы лишите себя консоли. Это может сделать другой оператор.',
  owner_last: 'В аккаунте должен остаться хотя бы один владелец. Сначала назначьте другого.',
  pages_too_many: 'Открыто страниц с живыми данными: {limit}, больше нельзя. Закройте одну.',
  password_needed: 'Откройте ссылку в браузере, в котором вы её запросили, или введите и пароль.',
  people_too_many: 'В аккаунте может быть не больше {limit} человек вместе с приглашёнными.',
  requests_open:
    'У аккаунта {account} есть незавершённые запросы. Приостановите его и сотрите человека, когда они закончатся.',
  person_unknown: 'С адресом {email} никто не входит.',
  role_too_low: 'Ваша роль ({role}) этого не позволяет.',
  server_outdated:
    'Сервер обновляют: он старше своей базы данных. Ничего не списано, повторите чуть позже.',
  session_over: 'В этом браузере уже вышли.',
  stopped: [
    'Оператор снял эту модель с продажи. Ничего не списано; выберите другую. Его заметка: {status_note}',
    'Оператор снял эту модель с продажи. Ничего не списано; выберите другую модель.',
  ],
  sign_up_off: 'Зарегистрироваться здесь нельзя. Попросите аккаунт у оператора.',
  tries_too_many: 'Слишком много попыток. Подождите несколько минут и повторите.',

  // Keys.
  key_expired: 'Срок ключа истёк. Сначала продлите его.',
  key_revoked: 'Ключ отозван, изменить его нельзя. Создайте другой.',
  key_rotated: 'Ключ тем временем уже сменили, ничего не сделано. Посмотрите на него снова.',
  key_spends_nothing:
    'Ключ, который управляет ключами, ничего не тратит: {field} у него нет. Ограничьте ключи, которые он создаёт.',
  keys_by_api_off:
    'Оператор не разрешил этому аккаунту управлять ключами через API. Обратитесь к оператору.',
  keys_too_many: 'В аккаунте может быть не больше {limit} ключей. Сначала отзовите один.',
  limit_of_operator:
    'Оператор ограничил {field} значением {ceiling}: его можно снизить, но не поднять и не убрать.',
  limit_too_high: '{field}: не больше {maximum}. За большим обратитесь к оператору.',
  model_unknown: 'Модели {model} нет.',
  overlap_invalid: 'Прежний ключ может действовать ещё от 0 до {maximum} часов.',
  overlap_over: 'Прежний ключ больше не действует.',
  studio_key_fixed: 'Поле {field} у ключа студии изменить нельзя.',
  studio_key_secret: 'Ключа студии целиком нет ни у кого, сменить его нельзя.',
  studio_key_stays: 'Ключ студии не отзывают: чтобы остановить его, поставьте месячный лимит 0.',

  // Money.
  amount_not_positive: 'Сумма должна быть больше 0.',
  beyond_available: 'На аккаунте столько не доступно. Разрешите долг или возьмите меньше.',
  correction_zero: 'Корректировка не может быть 0.',
  cost_booked: 'Стоимость этого запроса уже проведена. Она проводится один раз.',
  cost_without_run: 'То, что не выполнялось, ничего не стоило.',
  end_passed: 'Срок должен быть в будущем.',
  end_without_bonus: 'Срок бывает только у бонуса.',
  multiplier_invalid: 'Множитель цены: число от 0 до 100, не больше 6 знаков после точки.',
  upstream_key_invalid:
    'Ключ состоит из латинских букв, цифр и знаков; несколько ключей разделяются пробелами.',
  upstream_without_key: 'Этому апстриму ключ не нужен: в его описании он не назван.',
  price_invalid: 'Такая цена не подходит этой модели. Сравните её с ценой из файла каталога.',
  route_twice: 'Апстрим {name} назван дважды. Назовите каждый один раз.',
  route_unknown: 'У этой модели нет апстрима {name}. Есть: {one_of}.',
  shares_total:
    'Доли апстримов должны давать в сумме 100, сейчас {total}. Или не указывайте ни одной.',
  note_of_live_model:
    'Заметку для клиентов можно оставить только у модели, снятой с продажи. Сначала снимите её.',
  note_invalid: 'В заметке может быть до {max_length} знаков в одну строку.',
  reason_invalid: 'В причине должно быть от 1 до {max_length} знаков в одну строку.',
  block_unread: 'Этот блок ещё не прочитан: чтение дошло до блока {scanned_height}.',
  blocks_reversed: 'Первый блок должен быть меньше последнего.',
  chain_stopped: 'Чтение этой сети остановлено. Сначала возобновите его.',
  chain_unknown: 'Среди прочитанных сетей такой нет.',
  addresses_too_many:
    'У счёта может быть не больше {maximum} адресов одной сети. Нынешний адрес остаётся в силе.',
  deposit_key_same: 'Этот ключ уже текущий.',
  deposit_key_unused: 'Из ключей этого семейства ещё не получали адресов: менять нечего.',
  deposit_amount: 'Такую сумму нельзя зачислить: она равна нулю или слишком велика.',
  deposit_booked:
    'Проводка вручную уже называет эту транзакцию. Зачисляйте депозит, только если то был другой платёж.',
  deposit_changed: 'Этот депозит только что изменился. Посмотрите на него ещё раз.',
  deposit_credited: 'Этот депозит уже зачислен. Это не отменяется.',
  deposit_ignored: 'Этот депозит уже не учитывается.',
  deposit_of_other:
    'Адрес этого депозита принадлежит другому аккаунту. Зачислите его туда и при необходимости исправьте два баланса.',
  deposit_on_chain:
    'Номер платежа называет транзакцию, которая уже зачислена из сети. Если это другой платёж, укажите номер без её хеша.',
  deposit_token:
    'Файл сети не зачисляет этот токен. Если один токен для вас стоит один доллар, назовите аккаунт; иначе проведите его стоимость вручную.',
  deposit_unknown: 'Такого депозита нет.',
  deposit_unconfirmed:
    'Токен и сумма этого депозита не подтверждены. Сверьте их с обозревателем сети и назовите аккаунт.',
  deposit_unmatched:
    'Адреса этого депозита нет ни у одного аккаунта. Назовите аккаунт, который его получит.',
  deposit_unplaced:
    'Ни один узел ещё не показал квитанцию этой транзакции, поэтому место депозита в ней неизвестно. Подключите другой узел или проведите сумму вручную, указав хеш транзакции номером платежа.',
  event_unknown: 'Такого события нет. События хранятся 30 дней.',
  reference_invalid: 'В номере платежа должно быть от 1 до {max_length} знаков в одну строку.',
  reference_reserved:
    'Номера платежей, которые начинаются с «voucher:» или «chain:», заняты. Нужен другой.',
  reference_transactions:
    'Номер платежа называет две транзакции. Проведите каждую под своим номером.',
  not_charged: 'За этот запрос ничего не списано: возвращать нечего.',
  refunded_already: 'За этот запрос уже всё возвращено.',
  refund_beyond_charge:
    'За этот запрос осталось вернуть не больше {left_usd_micro}. Уменьшите сумму.',
  reference_used: 'Платёж с номером «{reference}» уже проведён для другого.',
  top_up_first: 'Файлы хранятся только у аккаунтов, которые пополнялись. Сначала пополните баланс.',
  voucher_expired: 'Срок ваучера истёк {expired_at}.',
  voucher_misspelt:
    'Это не код ваучера, или в нём ошибка. Он выглядит так: FB-XXXX-XXXX-XXXX-XXXX-XXXX.',
  voucher_redeemed:
    'Ваучер использован {redeemed_at}. Его сумму можно исправить корректировкой баланса.',
  voucher_unknown: 'Такого ваучера нет. Проверьте код ещё раз.',
  voucher_used: 'Этот ваучер уже использован.',
  voucher_voided: 'Оператор отозвал этот ваучер.',
  vouchers_at_once: 'За один раз можно создать от 1 до {limit} ваучеров.',

  // Requests, their inputs and webhooks.
  address_not_public: 'Адрес не подходит: нужен полный публичный адрес http или https.',
  field_missing: 'Это поле нужно заполнить.',
  field_needed: 'Нужно одно из полей: {fields}.',
  field_unknown: ['Поля {param} здесь нет. Можно: {allowed}.', 'У этой модели нет такого поля.'],
  file_empty: 'Файл пуст.',
  file_gone: 'Такого файла в аккаунте нет: файлы хранятся 7 дней. Загрузите его снова.',
  files_too_large: 'Файлы сообщений вместе больше {limit} МиБ. Отправьте изображения поменьше.',
  first_call_open: 'Первый такой вызов ещё идёт. Повторите чуть позже.',
  form_unknown: 'Значение не подходит ни под одну из допустимых форм.',
  hosts_too_many: 'Во вводе не может быть адресов больше чем с {limit} разных серверов.',
  media_invalid: 'Нужен загруженный файл, публичный адрес http(s) или адрес data: с данными.',
  values_too_many: 'Во вводе не может быть больше {limit} значений.',
  media_too_many: 'Во вводе не может быть больше {limit} файлов и адресов.',
  bad_file: 'Модель не смогла прочитать файл: «{said}»',
  bad_image: 'Модель не смогла прочитать картинку: «{said}»',
  bad_parameter: 'Модель не принимает один из параметров: «{said}»',
  content_policy: 'Модель отклонила содержание: «{said}»',
  media_type: 'Такой тип файла модель не принимает: {found}.',
  messages_too_long: 'Сообщения длиннее, чем принимает модель. Сократите их или уберите файлы.',
  model_refused: 'Модель отклонила ввод: «{said}»',
  outcome_known: 'Исход этого запроса известен.',
  output_link_invalid: 'Ссылка на результат неверна, или результат уже не хранится.',
  prompt_too_long:
    'В промпте может быть {tokens} токенов, а эта модель принимает не больше {maximum}. Сократите его.',
  reply_too_large:
    'Ответ больше, чем принимает сервис. Модель его написала, поэтому он оплачен полностью. Запросите меньше токенов.',
  request_id_invalid: 'Нужен id запроса, его начало или номер вызова.',
  request_open: 'Запрос ещё не закончился: ответ может прийти. Дождитесь его.',
  secret_last: 'Действует только один секрет, он остаётся. Сначала создайте другой.',
  secrets_two: 'Действуют уже два секрета. Сначала уберите старый.',
  sends_too_many: 'Вручную можно отправить не больше {limit} в минуту. Подождите немного.',
  webhook_none: 'У этого запроса нет адреса вебхука.',

  // Faults of the network between the service and a webhook.
  broken_off: 'Соединение оборвалось',
  certificate_early: 'Сертификат ещё не действует',
  certificate_expired: 'Срок сертификата истёк',
  certificate_of_other: 'Сертификат выдан на другое имя',
  certificate_self_signed: 'Сертификат самоподписанный',
  certificate_untrusted: 'Сертификат выдан тем, кому здесь не доверяют',
  connection_late: 'Соединение вовремя не установлено',
  connection_refused: 'Соединение отклонено: там никто не слушает',
  given_up: 'Прервано',
  given_up_before: 'Прервано до начала',
  host_unreachable: 'Сервер отсюда недоступен',
  headers_too_long: 'Заголовки ответа слишком длинные',
  idle: 'Слишком долго ничего не приходило',
  name_unresolved: 'Имя сервера не найдено',
  not_http: 'Ответ не HTTP',
  not_public: 'Адрес не публичный',
  too_late: 'Ответ не пришёл в срок',
  unencrypted: 'Шифрованное соединение не установлено',
};
