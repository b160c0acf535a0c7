/**
 * What the service says in English, in Russian: sentences, and parts of sentences that stand in
 * the holes of others. The first that fits is taken, so the wide ones come last.
 *
 * A sentence fits where its holes do. `{}` takes another sentence of these, a name or a figure,
 * and lists of them; `{=}` the same except for what may be an English word, since sentences that
 * wide fit what models say as well; `{...}` whatever others wrote.
 */
export const sentences: readonly (readonly [english: string, russian: string])[] = [
  // What the pages say where no answer comes.
  [
    'The service cannot be reached. Check the connection and try again.',
    'Сервис недоступен. Проверьте соединение и повторите.',
  ],

  // The catalogue of errors.
  [
    'The call is malformed. Correct it and send it again.',
    'Запрос составлен неверно. Исправьте его и отправьте снова.',
  ],
  [
    'No such model. GET /v1/models lists the ids, to be used exactly as listed.',
    'Такой модели нет. Список моделей: GET /v1/models.',
  ],
  [
    'These inputs do not allow pricing. Correct the named field.',
    'По этим данным нельзя посчитать цену. Исправьте указанное поле.',
  ],
  [
    "The input does not fit the model's schema. See details.errors.",
    'Ввод не подходит модели. Исправьте отмеченные поля.',
  ],
  [
    'webhook_url must be a public http or https address.',
    'Адрес вебхука должен быть публичным, http или https.',
  ],
  [
    'messages must be a non-empty list of objects with role and content.',
    'В разговоре должно быть хотя бы одно сообщение, у каждого role и content.',
  ],
  [
    'This is a text model. Call POST /v1/chat/completions.',
    'Это текстовая модель: её вызывают через POST /v1/chat/completions.',
  ],
  [
    'Send a valid key as "Authorization: Key <API_KEY>".',
    'Отправьте действующий ключ: «Authorization: Key <API_KEY>».',
  ],
  [
    'The balance does not cover the reservation. Top up and send the request again.',
    'На балансе не хватает денег для резерва. Пополните его и отправьте запрос снова.',
  ],
  [
    "The key's monthly spend limit is reached. Raise it in the dashboard, or use another key.",
    'Месячный лимит ключа исчерпан. Поднимите его в кабинете или возьмите другой ключ.',
  ],
  ['This is not allowed for you.', 'Это вам не разрешено.'],
  ['There is nothing here under this id for this account.', 'В этом аккаунте такого нет.'],
  [
    'This address does not take that method. See the Allow header.',
    'Этот адрес не принимает такой метод. Разрешённые методы в заголовке Allow.',
  ],
  [
    'This Idempotency-Key was used for another call (model, body or webhook). Use a new key for a new request.',
    'Этот Idempotency-Key уже использован с другим вызовом (модель, тело или вебхук). Для нового запроса нужен новый ключ.',
  ],
  [
    'The request is not COMPLETED. Poll its status_url first.',
    'Запрос ещё не завершён. Дождитесь его окончания.',
  ],
  [
    'Only a request that is IN_QUEUE can be cancelled.',
    'Отменить можно только запрос, который ещё в очереди.',
  ],
  [
    'This output is no longer kept. Outputs live 24 hours after completion.',
    'Этот результат уже удалён: результаты хранятся 24 часа.',
  ],
  ['The body is larger than this call takes.', 'Тело запроса больше, чем принимает этот вызов.'],
  ['This call does not take that Content-Type.', 'Этот вызов не принимает такой Content-Type.'],
  [
    'Too many calls. Wait as long as Retry-After says.',
    'Слишком много вызовов. Подождите немного и повторите.',
  ],
  [
    'Something went wrong here. Try again; quote request_id if it stays.',
    'В сервисе что-то сломалось. Повторите; если не пройдёт, сообщите оператору.',
  ],
  [
    'The model did not take the request. Nothing was charged.',
    'Модель не приняла запрос. Деньги не списаны.',
  ],
  [
    'No capacity at the moment. Nothing was charged; retry with backoff.',
    'Сейчас нет свободных мест. Деньги не списаны; повторите позже.',
  ],

  // Why a request failed.
  ['The model refused the input.', 'Модель отклонила ввод.'],
  ['The model failed to generate.', 'Модель не смогла сгенерировать результат.'],
  [
    'The generation took longer than its model allows.',
    'Генерация заняла больше времени, чем отведено этой модели.',
  ],
  ['The output is larger than this service keeps.', 'Результат больше, чем хранит сервис.'],
  [
    'The connection to the model broke and the outcome could not be learnt.',
    'Связь с моделью прервалась, и исход узнать не удалось.',
  ],
  [
    'The model returned an output that cannot be used.',
    'Модель вернула результат, который нельзя использовать.',
  ],
  ['The model returned too many files.', 'Модель вернула слишком много файлов.'],
  [
    'The model returned fields nested deeper than {} levels.',
    'Модель вернула поля с вложенностью больше {1}.',
  ],
  ['The model returned no output.', 'Модель не вернула результата.'],
  [
    'The model returned files of another kind than it is listed for.',
    'Модель вернула файлы не того вида, что заявлен в каталоге.',
  ],
  [
    'The model returned a file that is no image, video or audio.',
    'Модель вернула файл, который не изображение, не видео и не звук.',
  ],
  ['The model returned a damaged file.', 'Модель вернула повреждённый файл.'],
  [
    'The model returned an address that may not be fetched.',
    'Модель вернула адрес, который нельзя открыть.',
  ],
  ['The model returned more than can be taken.', 'Модель вернула больше, чем можно принять.'],
  ['The model failed.', 'В модели произошёл сбой.'],
  ['The model failed without a reason.', 'В модели произошёл сбой, причина неизвестна.'],
  ['The generation failed.', 'Генерация не удалась.'],
  ['The model lost the job.', 'Модель потеряла задание.'],
  ['The result is not kept any more.', 'Результат больше не хранится.'],
  [
    'The result was removed before it could be fetched.',
    'Результат удалили раньше, чем его удалось забрать.',
  ],
  ['A file of the input was refused.', 'Один из файлов ввода не принят.'],
  ['The workflow returned no output.', 'Рабочий процесс не вернул результата.'],
  ['A node of the workflow failed.', 'В рабочем процессе произошёл сбой.'],
  ['It was interrupted at ComfyUI.', 'Задание прервали в ComfyUI.'],
  ['It was cancelled at Replicate.', 'Задание отменили в Replicate.'],
  ['It was given up before it started.', 'От задания отказались до его начала.'],
  [
    'No model had room for the request in the time that it was given.',
    'За отведённое время ни у одной модели не нашлось места для запроса.',
  ],
  [
    'The call was cut off before its reply was complete. Nothing was charged.',
    'Вызов оборвался до конца ответа. Деньги не списаны.',
  ],
  [
    'This model was withdrawn before the request could start.',
    'Модель убрали раньше, чем запрос начался.',
  ],
  [
    'A file or output that the input names is no longer kept. Upload it again.',
    'Файл или результат, указанный во вводе, больше не хранится. Загрузите его снова.',
  ],
  ['The sandbox refuses this prompt, as asked.', 'Песочница отклонила промпт, как и просили.'],
  ['The sandbox refuses this message, as asked.', 'Песочница отклонила сообщение, как и просили.'],
  ['The sandbox failed, as asked.', 'В песочнице произошёл сбой, как и просили.'],
  ['The sandbox broke off, as asked.', 'Песочница прервалась, как и просили.'],
  ['The sandbox is busy, as asked.', 'Песочница занята, как и просили.'],
  ['The sandbox could not look the job up.', 'Песочница не смогла найти задание.'],
  ['The sandbox could not take the job.', 'Песочница не смогла принять задание.'],
  [
    'The sandbox does not know whether it kept the job.',
    'Песочница не знает, осталось ли у неё задание.',
  ],
  ['The sandbox has no task called {}.', 'В песочнице нет задачи {1}.'],
  ['The answer got lost, as asked.', 'Ответ потерялся, как и просили.'],
  ['Waiting for its turn, {} before it.', 'Ждёт очереди, впереди {1}.'],
  ['{} takes at most {}.', '{1}: не больше {2}.'],
  ['The sandbox could not make this.', 'Песочница не смогла это сделать.'],
  [
    'The sandbox does not know this job; it forgets jobs after two hours.',
    'Песочница не знает этого задания: она забывает задания через два часа.',
  ],
  ['The connection to the sandbox broke.', 'Связь с песочницей прервалась.'],
  ['The job was cancelled.', 'Задание отменено.'],

  // Files and addresses of an input.
  [
    '{} must be a file_id of an uploaded file or a public address.',
    '{1}: нужен file_id загруженного файла или публичный адрес.',
  ],
  [
    '{} must be a public https address for this model.',
    '{1}: этой модели нужен публичный адрес https.',
  ],
  ['{} must be an image, and this file is {}.', '{1}: нужно изображение, а этот файл — {2}.'],
  ['{} must be audio, and this file is {}.', '{1}: нужен звук, а этот файл — {2}.'],
  [
    '{} name more than {} MiB of files; send smaller images.',
    'Файлы сообщений вместе больше {2} МиБ. Отправьте изображения меньшего размера.',
  ],
  ['{} name a file that is no longer kept.', 'Один из файлов в сообщениях уже удалён.'],
  [
    'sandbox:tool={} names a tool that this call does not offer. {}',
    'sandbox:tool={1}: такого инструмента в этом вызове нет.',
  ],
  ['{} must hold its data as base64.', '{1}: данные должны быть в base64.'],
  [
    '{} could not be fetched{}. Check the address, or upload the file and give its file_id.',
    '{1}: не удалось скачать. Проверьте адрес или загрузите файл и укажите его file_id.',
  ],
  [
    '{} is larger than the {} bytes that this model takes.',
    '{1}: файл больше {2} байт, которые принимает эта модель.',
  ],
  ['{} is larger than {} bytes.', '{1}: файл больше {2} байт.'],
  ['{} is too much: the files are too large together.', '{1}: файлы вместе слишком большие.'],
  ['{} is not taken by this model.', '{1}: эта модель такого не принимает.'],
  [
    '{} is not taken by this model beside the others.',
    '{1}: эта модель не принимает такое вместе с остальными.',
  ],
  ['{} is empty.', '{1}: файл пуст.'],
  ['{} is empty or damaged.', '{1}: файл пуст или повреждён.'],
  ['{} is a damaged image.', '{1}: повреждённое изображение.'],
  ['{} is a damaged file.', '{1}: повреждённый файл.'],
  [
    '{} is not an image, a video or audio that can be read.',
    '{1}: это не изображение, видео или звук, которые можно прочесть.',
  ],
  [
    '{} is {} × {} pixels, and this model takes at most {} megapixels. Send a smaller picture.',
    '{1}: {2} × {3} пикселей, а эта модель принимает не больше {4} мегапикселей. Отправьте изображение поменьше.',
  ],
  ['{} has more than {} pixels.', '{1}: больше {2} пикселей.'],
  ['{} is longer than {} seconds.', '{1}: дольше {2} с.'],
  ['{} names more than {} files.', '{1}: больше {2} файлов.'],
  ['image_url is missing: there is nothing to edit.', 'Нет image_url: редактировать нечего.'],
  [
    'The upscaled image would have {} x {} pixels; at most {} a side and {} in all can be made.',
    'После увеличения было бы {1} x {2} пикселей; можно не больше {3} по стороне и {4} всего.',
  ],
  [
    'Each side must have {} to {} pixels; asked: {}.',
    'Сторона должна быть от {1} до {2} пикселей; запрошено: {3}.',
  ],
  ['At most {} pixels can be made; asked: {}.', 'Можно не больше {1} пикселей; запрошено: {2}.'],
  ['At most {} files can be given; there are {}.', 'Можно не больше {1} файлов; их {2}.'],
  ['{} must be {=}, but the file is {=}.', '{1}: нужно {2}, а этот файл: {3}.'],
  ['Only videos of up to {} seconds can be extended.', 'Продлить можно видео не длиннее {1} с.'],
  ['{} needs {} input, such as {}_url.', '{1}: нужен файл на входе, например в {3}_url.'],
  [
    'The codec of the video cannot be put into an MP4.',
    'Видео закодировано так, что его нельзя поместить в MP4.',
  ],
  ['The video has no key frame.', 'В видео нет ключевого кадра.'],
  ['The video has too many frames.', 'В видео слишком много кадров.'],
  [
    'The messages have more than {} tokens, the most that the model takes.',
    'В сообщениях больше {1} токенов, чем принимает модель.',
  ],
  ['{} may have at most {} characters.', '{1}: не больше {2} знаков.'],

  // Chat.
  ['The model refused the input: {...}', 'Модель отклонила ввод: {1}'],
  ['The model had no capacity.', 'У модели не было свободных мест.'],
  ['The model gave no answer.', 'Модель не ответила.'],
  ['The caller left before the model was called.', 'Вызвавший отключился до обращения к модели.'],
  [
    'The reply is larger than this server takes. The model had written it, so it was charged whole. Ask for fewer log probabilities, or for fewer tokens.',
    'Ответ больше, чем принимает этот сервер. Модель его написала, поэтому он оплачен полностью. Запросите меньше вероятностей токенов или меньше токенов.',
  ],
  [
    'This file is not to be found here, though its time is not over. Try again later; quote request_id if it stays.',
    'Этого файла здесь нет, хотя срок его хранения не истёк. Повторите позже; если не поможет, сообщите request_id.',
  ],
  ['The model broke off before any output.', 'Модель прервалась, ничего не ответив.'],
  [
    'This server stopped before the model had answered. Nothing was charged; send the request again.',
    'Сервис остановился раньше, чем модель ответила. Деньги не списаны; отправьте снова.',
  ],
  [
    '{} in mid-reply. The request shows what was charged. For a new reply, call again, with a new Idempotency-Key if this call had one.',
    '{1} посреди ответа. Сколько списано, видно в запросе.',
  ],
  [
    'The reply of the first call with this Idempotency-Key broke off here. The request shows what was charged. For a new reply, call again with a new Idempotency-Key.',
    'Ответ первого вызова с этим Idempotency-Key оборвался здесь. Сколько списано, видно в запросе. За новым ответом обратитесь с новым Idempotency-Key.',
  ],
  ['This server stopped', 'Сервис остановился'],
  ['The model broke off', 'Модель прервалась'],
  ["The model's time was up", 'Время модели вышло'],
  [
    'The first call with this Idempotency-Key is still running. Send this one again in a moment.',
    'Первый вызов с этим Idempotency-Key ещё идёт. Повторите чуть позже.',
  ],
  [
    '{} may have {} chat calls open at once. Wait until one has ended.',
    '{1} не может вести больше {2} чатов одновременно. Дождитесь конца одного из них.',
  ],
  [
    '{} makes {}s and is no chat model. Send it to POST /v1/queue/{}.',
    '{1} не для чата. Её вызывают через POST /v1/queue/{3}.',
  ],

  // Keys, limits, what is under way.
  ['This key is invalid or has been revoked.', 'Этот ключ неверен или отозван.'],
  [
    'This key is mistyped or cut off: its checksum is wrong. Copy it again.',
    'В ключе опечатка, или он обрезан: не сходится контрольная сумма. Скопируйте его заново.',
  ],
  [
    'This is not a key of this service: those begin with fbx_.',
    'Это не ключ этого сервиса: его ключи начинаются с fbx_.',
  ],
  [
    'fbx_... stands for your own key. Create one on the Keys page of the dashboard.',
    'fbx_... стоит на месте вашего ключа; его создают в кабинете, на странице «Ключи».',
  ],
  [
    'The Authorization header has no scheme. Write the word Key before the key.',
    'В заголовке «Authorization» нет схемы. Напишите перед ключом слово «Key».',
  ],
  [
    'The scheme of the Authorization header must be Key or Bearer.',
    'Схема в заголовке «Authorization» должна быть «Key» или «Bearer».',
  ],
  [
    "This call reserves ${}, and ${} is left of this key's monthly limit of ${}. Raise it in the dashboard, or use another key.",
    'Нужен резерв ${1}, а от месячного лимита ключа в ${3} осталось ${2}. Поднимите лимит в кабинете или возьмите другой ключ.',
  ],
  [
    'Not enough balance: this call reserves ${}, and ${} is available. Top up and send it again.',
    'Нужен резерв ${1}, а доступно ${2}. Пополните баланс и отправьте запрос снова.',
  ],
  [
    'The account of this key is suspended. Ask the operator.',
    'Аккаунт этого ключа приостановлен. Обратитесь к оператору.',
  ],
  [
    'This key expired on {}. Use another one, or give it a later end in the dashboard.',
    'Срок ключа истёк {1}. Возьмите другой или продлите этот в кабинете.',
  ],
  [
    'This key was rotated, and this text of it was good until {}. Use its newer text.',
    'Ключ сменили, прежний текст действовал до {1}. Возьмите новый.',
  ],
  [
    'This key may use {}, but not {}. Use another key, or let this one use it: in the dashboard.',
    'Этому ключу разрешено: {1}, но не {2}. Возьмите другой ключ или разрешите в кабинете.',
  ],
  ['This key', 'Этот ключ'],
  ['All keys of this account together', 'Аккаунт со всеми его ключами'],
  [
    '{} may make {} calls a minute. Wait {} s.',
    '{1} может делать {2} вызовов в минуту. Подождите {3} с.',
  ],
  [
    'This key has {} open {}, as many as it may. Wait for one to end, or cancel one.',
    'Открытых заданий у ключа: {1}, больше нельзя. Дождитесь конца одного или отмените его.',
  ],
  [
    'This account has {} open jobs, as many as all its keys may have together. Wait for one to end, or cancel one.',
    'Открытых заданий у аккаунта: {1}, больше у всех его ключей вместе быть не может. Дождитесь конца одного или отмените его.',
  ],
  [
    'An account may cancel {} jobs in an hour. This one goes on; cancel it later.',
    'Аккаунт может отменить не больше {1} заданий в час. Это задание продолжается; отмените его позже.',
  ],
  [
    'The inputs that an account submits in one day (UTC) may take {} bytes, and this one does not fit. Upload large files and name their file_id instead, or go on tomorrow.',
    'За день (UTC) аккаунт может отправить не больше {1} байт ввода, и этот ввод уже не помещается. Загрузите большие файлы и укажите их file_id или продолжите завтра.',
  ],
  [
    'An account may have {} uploads open at once. Wait until one has ended.',
    'Одновременно можно загружать {1} файлов. Дождитесь конца одной загрузки.',
  ],
  [
    'You have {} streams open, as many as one person may. Close a page first.',
    'У вас открыто {1} страниц с живыми данными, больше нельзя. Закройте одну.',
  ],
  [
    'You are signed out, or belong there no more.',
    'Вы вышли или больше не состоите в этом аккаунте.',
  ],
  [
    'Too many tries. Wait some minutes, then try again.',
    'Слишком много попыток. Подождите несколько минут и повторите.',
  ],
  ['At most {} are sent by hand in a minute.', 'Вручную можно отправить не больше {1} в минуту.'],
  [
    'This key was revoked or has expired, or its account is suspended.',
    'Ключ отозван, его срок истёк или его аккаунт приостановлен.',
  ],
  [
    'You have {} {} on this server, as many as are left for all others. Nothing was charged; wait until one has ended, and retry with backoff.',
    'На этом сервере у вас {2}: {1}, столько же осталось на всех остальных. Деньги не списаны; дождитесь конца одного и повторите позже.',
  ],
  ['calls under way', 'вызовов в работе'],
  ['bodies still on their way', 'запросов в передаче'],
  ['streams and waits open', 'открытых потоков и ожиданий'],
  ['This server is about to stop. Connect again.', 'Сервис останавливается. Подключитесь снова.'],
  [
    'This server is about to stop. Send the request again.',
    'Сервис останавливается. Отправьте снова.',
  ],
  [
    'This server has too much to do. Nothing was charged; retry with backoff.',
    'Сервис перегружен. Деньги не списаны; повторите позже.',
  ],
  [
    'Too many calls are under way that nobody has signed in for. Retry with backoff.',
    'Слишком много вызовов без входа. Повторите позже.',
  ],
  [
    'A connection takes {} calls at once. Nothing was charged; wait for a reply, or open another connection.',
    'Одно соединение ведёт не больше {1} вызовов. Деньги не списаны; дождитесь ответа.',
  ],
  [
    'The calls of this account that are under way hold {} bytes, and this one is too much beside them. Nothing was charged; send fewer large bodies at once, and retry with backoff.',
    'Вызовы этого аккаунта уже занимают {1} байт, и этот рядом с ними не помещается. Деньги не списаны; повторите позже.',
  ],
  [
    'Too many bytes of calls are under way. Nothing was charged; send fewer large bodies at once, and retry with backoff.',
    'Сейчас передаётся слишком много данных. Деньги не списаны; повторите позже.',
  ],
  [
    'This server takes no more uploads at once. Nothing was stored; retry with backoff.',
    'Сервис принимает слишком много загрузок сразу. Ничего не сохранено; повторите позже.',
  ],
  [
    'The models behind this id have no capacity at the moment. Nothing was charged; retry with backoff.',
    'У этой модели сейчас нет свободных мест. Деньги не списаны; повторите позже.',
  ],
  ['Not ready: {}.', 'Сервис не готов: {1}.'],
  [
    'The web pages are not built. Run "npm start" or "npm run build".',
    'Страницы не собраны. Запустите «npm start» или «npm run build».',
  ],
  [
    'Metrics are for this machine, by its address or as localhost, or for holders of the metrics token.',
    'Метрики доступны с этой машины по её адресу или как «localhost», а также по токену метрик.',
  ],

  // Calls and bodies.
  ['The body must be a JSON object.', 'Тело запроса должно быть объектом JSON.'],
  ['The body is empty; send JSON.', 'Тело запроса пусто; нужен JSON.'],
  [
    'The body begins with a byte order mark; send UTF-8 without one.',
    'Тело начинается с метки порядка байтов; нужен UTF-8 без неё.',
  ],
  ['The body is not valid UTF-8; send JSON in UTF-8.', 'Тело не в UTF-8; нужен JSON в UTF-8.'],
  [
    'The body holds too many values; at most {} are allowed.',
    'В теле слишком много значений; можно не больше {1}.',
  ],
  [
    'The body is nested too deeply; at most {} levels are allowed.',
    'Слишком глубокая вложенность; можно не больше {1} уровней.',
  ],
  ['Send the body without Content-Encoding.', 'Отправьте тело без Content-Encoding.'],
  ['Send the body as application/json, in UTF-8.', 'Отправьте тело как application/json в UTF-8.'],
  ['Send the body as application/json.', 'Отправьте тело как application/json.'],
  [
    'The body is larger than {} bytes, the most this call takes.',
    'Тело больше {1} байт, которые принимает этот вызов.',
  ],
  ['The body came too slowly and was cut off.', 'Данные шли слишком медленно, приём прерван.'],
  ['The body ended early.', 'Данные оборвались раньше времени.'],
  [
    'The path is not valid: in it, % must be followed by two hexadecimal digits of a UTF-8 character.',
    'Неверный адрес: после % должны идти две шестнадцатеричные цифры.',
  ],
  [
    'Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters, no space.',
    'Idempotency-Key: один, от 1 до 255 видимых знаков ASCII без пробела.',
  ],
  [
    'input must be a JSON object: the full model input.',
    'input должен быть объектом JSON: полный ввод модели.',
  ],
  ['There is nothing at {}. GET /v1/openapi.json lists the routes.', 'По адресу {1} ничего нет.'],
  ['There is nothing at {}. Did you mean {}?', 'По адресу {1} ничего нет. Может быть, {2}?'],
  ['This address takes {}.', 'Этот адрес принимает {1}.'],
  [
    'This server is no proxy and opens no tunnels with CONNECT.',
    'Этот сервис не прокси и не открывает туннелей.',
  ],
  ['Speak HTTP/1.1.', 'Нужен HTTP/1.1.'],
  ['Send a Host header.', 'Нужен заголовок Host.'],
  ['Send one Host header.', 'Нужен один заголовок Host.'],
  ['The call is not valid HTTP.', 'Вызов составлен не по правилам HTTP.'],
  ['The headers are larger than 16 KiB.', 'Заголовки больше 16 КиБ.'],
  ['The request came too slowly and was cut off.', 'Запрос шёл слишком медленно, приём прерван.'],
  ['There is no field {}. Allowed: {}.', 'Поля {1} здесь нет. Можно: {2}.'],

  // Files, outputs, requests, models.
  [
    'Files are kept for accounts that have been topped up. Top up first, then upload.',
    'Файлы хранятся только для аккаунтов, которые пополнялись. Сначала пополните баланс.',
  ],
  [
    'An address for an upload takes one file, and this one has taken it. Ask for another.',
    'По этому адресу файл уже загружен. Запросите другой.',
  ],
  [
    'Send the Content-Type of the file. What is taken: {}.',
    'Укажите Content-Type файла. Можно: {1}.',
  ],
  [
    'The Content-Type names no type. Send application/json, or with a file the type of the file: images, video, audio, PDF and plain text are taken.',
    'Content-Type не называет типа. Укажите application/json, а с файлом его тип: можно картинки, видео, звук, PDF и простой текст.',
  ],
  [
    'Send the raw bytes of the file, not a form: curl --data-binary @file.',
    'Отправьте сами байты файла, а не форму: curl --data-binary @file.',
  ],
  [
    'A text must be in UTF-8, without control characters.',
    'Текст должен быть в UTF-8, без управляющих символов.',
  ],
  [
    'This service runs without its client. Whoever runs it can build it: npm run build.',
    'Этот сервис запущен без своего клиента. Собрать его может тот, кто ведёт сервис: npm run build.',
  ],
  ['Send the bytes without Content-Encoding.', 'Отправьте файл без Content-Encoding.'],
  ['The body is empty; send the bytes of the file.', 'Файл пуст.'],
  [
    'These bytes are of no type that is taken: {}.',
    'Файлы такого вида не принимаются. Можно: {1}.',
  ],
  ['The Content-Type says {...}, the bytes are {}.', 'Указан вид {1}, а сам файл {2}.'],
  [
    'The files of an account may take {} bytes together; yours take {}, and this one does not fit.{}',
    'Файлы аккаунта могут занимать {1} байт; занято {2}, этот не помещается.{3}',
  ],
  [' The first of them expires on {}.', ' Первый из них удалится {1}.'],
  [
    'The file is larger than {} bytes, the most that is taken.',
    'Файл больше {1} байт, больше принять нельзя.',
  ],
  ['The range lies outside the file of {} bytes.', 'Диапазон вне файла: в нём {1} байт.'],
  [
    'The signature of this link is not valid. Fetch response_url for a fresh link.',
    'Подпись ссылки неверна. Откройте запрос ещё раз, чтобы получить новую.',
  ],
  ['No model has the id "{...}". GET /v1/models lists them.', 'Модели «{1}» нет.'],
  [
    'No model has the id "{...}". GET /v1/models lists the ids, to be used exactly as listed.',
    'Модели «{1}» нет.',
  ],
  ['The model id is missing. {}', 'Не указана модель.'],
  [
    'What this request made is no longer kept; its card and its charge are.',
    'Результат запроса больше не хранится; карточка и списание остались.',
  ],
  ['The request is still in the queue. Poll its status_url.', 'Запрос ещё в очереди.'],
  ['The request is still running. Poll its status_url.', 'Запрос ещё выполняется.'],
  [
    'The request failed and has no output; details.error says why. Nothing was charged.',
    'Запрос завершился ошибкой, результата нет. Деньги не списаны.',
  ],
  [
    'The request was cancelled and has no output. Nothing was charged.',
    'Запрос отменён, результата нет. Деньги не списаны.',
  ],
  [
    'The service was moved or restored while this request ran. Nothing was charged.',
    'Пока запрос выполнялся, сервис перенесли или восстановили из копии. Деньги не списаны.',
  ],

  // Who may do what.
  [
    'This service sends no mail. Ask the operator to change your e-mail address.',
    'Этот сервис не отправляет писем. Попросите оператора сменить адрес.',
  ],
  ['This is your address already.', 'Это уже ваш адрес.'],
  [
    'This link is used up or too old. Ask for another one.',
    'Ссылка использована или устарела. Запросите другую.',
  ],
  ['The password is wrong.', 'Неверный пароль.'],
  [
    'For this you have to have signed in within the last hour.',
    'Для этого нужно было войти не больше часа назад. Выйдите и войдите снова.',
  ],
  ['Sign in first.', 'Сначала войдите.'],
  [
    'Calls of the web pages come from the pages themselves: the Origin header is not ours.',
    'Страница открыта по чужому адресу. Откройте её по адресу этого сервиса.',
  ],
  ['Your role, {}, may not do this.', 'Ваша роль ({1}) этого не позволяет.'],
  [
    'This account is suspended. Ask the operator.',
    'Аккаунт приостановлен. Обратитесь к оператору.',
  ],
  ['Accounts are opened by invitation here.', 'Аккаунты здесь открывают по приглашению.'],
  [
    'Nobody can sign up here. Ask the operator for an account.',
    'Зарегистрироваться здесь нельзя. Попросите аккаунт у оператора.',
  ],
  [
    'Signing up needs an invitation. Ask the operator for one.',
    'Для регистрации нужно приглашение. Попросите его у оператора.',
  ],
  [
    'This invitation is used up or no longer good. Ask again.',
    'Приглашение использовано или больше не действует. Попросите новое.',
  ],
  ['This invitation is for another e-mail address.', 'Это приглашение для другого адреса.'],
  ['This invitation is accepted or withdrawn already.', 'Приглашение уже принято или отозвано.'],
  ['You belong to an account already.', 'Вы уже состоите в аккаунте.'],
  ['There is somebody with the address {} already.', 'Кто-то с адресом {1} уже есть.'],
  ['Nobody signs in with {}.', 'С адресом {1} никто не входит.'],
  ['They do not belong to this account.', 'Этот человек не состоит в аккаунте.'],
  [
    'An account keeps at least one owner. Make somebody else an owner first.',
    'В аккаунте должен остаться хотя бы один владелец. Сначала назначьте другого.',
  ],
  ['{} belongs to this account already.', '{1} уже в этом аккаунте.'],
  [
    'An account has at most {} people, invited ones included.',
    'В аккаунте не больше {1} человек вместе с приглашёнными.',
  ],
  ['This browser is signed out already.', 'В этом браузере уже вышли.'],
  ['{} must be an address of these pages.', '{1}: нужен адрес этих страниц.'],
  ['"{...}" is no e-mail address.', '«{1}» не адрес электронной почты.'],
  ['There is an account for {} already.', 'Аккаунт для {1} уже есть.'],
  ['There is no account {}. "farebox account list" shows them.', 'Аккаунта {1} нет.'],
  [
    'That would take the console away from you. Another operator can do it.',
    'Так вы лишите себя консоли. Это может сделать другой оператор.',
  ],
  [
    'A price multiplier is a number from 0 to 100 with at most 6 decimals.',
    'Множитель цены: число от 0 до 100, не больше 6 знаков после точки.',
  ],
  [
    '"{...}" is no price multiplier: a number from 0 to 100 with at most 6 decimals, such as 0.85.',
    '«{1}» не множитель цены: нужно число от 0 до 100, например 0.85.',
  ],
  ['A name has 1 to {} characters, {}.', 'В имени от 1 до {1} знаков, {2}.'],

  // Keys of the dashboard.
  [
    'An account has at most {} keys. Revoke one first.',
    'В аккаунте не больше {1} ключей. Сначала отзовите один.',
  ],
  ['This key is revoked: nothing of it changes.', 'Ключ отозван: в нём ничего не меняется.'],
  ['This key is revoked. Make another one.', 'Ключ отозван. Создайте другой.'],
  ['This key is revoked already.', 'Ключ уже отозван.'],
  [
    'This key is revoked: no call is made with it.',
    'Ключ отозван: с ним не сделать ни одного вызова.',
  ],
  ['This key has expired. Give it a later end first.', 'Срок ключа истёк. Сначала продлите его.'],
  [
    'The studio key keeps its name, never expires and may use all models.',
    'У ключа студии не меняется имя, нет срока, и ему доступны все модели.',
  ],
  [
    '{} can be at most {}. Ask the operator for more.',
    '{1}: не больше {2}. За большим обратитесь к оператору.',
  ],
  [
    'The operator has set {} to at most {}: you can lower it, and neither raise it nor take it away.',
    'Оператор ограничил {1} значением {2}: его можно снизить, но не поднять и не убрать.',
  ],
  ['An overlap has 0 to {} whole hours.', 'Прежний ключ может действовать ещё от 0 до {1} часов.'],
  [
    'Nobody has the text of the studio key to rotate it.',
    'Текста ключа студии нет ни у кого, сменить его нельзя.',
  ],
  [
    'This key was rotated meanwhile, so that nothing was done now. Look at it again.',
    'Ключ тем временем уже сменили, ничего не сделано. Посмотрите на него снова.',
  ],
  [
    'No earlier text of this key is good any more.',
    'Ни один прежний текст ключа больше не действует.',
  ],
  [
    'The studio key is not revoked: set its monthly limit to 0 to stop it.',
    'Ключ студии не отзывают: чтобы остановить его, поставьте месячный лимит 0.',
  ],
  [
    "A key's name has 1 to 100 characters, on one line, {}.",
    'В имени ключа от 1 до 100 знаков в одну строку, {1}.',
  ],
  [
    'without characters that are not seen or that change its direction',
    'без невидимых знаков и знаков, меняющих направление письма',
  ],

  // Money.
  [
    'This is no voucher code, or there is a slip in it. It looks like FB-XXXX-XXXX-XXXX-XXXX-XXXX.',
    'Это не код ваучера, или в нём ошибка. Он выглядит так: FB-XXXX-XXXX-XXXX-XXXX-XXXX.',
  ],
  [
    'There is no voucher with this code. Look at it once more.',
    'Ваучера с таким кодом нет. Проверьте код ещё раз.',
  ],
  ['This voucher was redeemed before.', 'Этот ваучер уже использован.'],
  ['This voucher was taken back by the operator.', 'Оператор отозвал этот ваучер.'],
  ['This voucher expired at {}.', 'Срок ваучера истёк {1}.'],
  ['A voucher must be worth more than 0.', 'Ваучер должен стоить больше 0.'],
  ['From 1 to {} vouchers are made at a time.', 'За один раз можно создать от 1 до {1} ваучеров.'],
  ['A voucher expires at a moment to come.', 'Срок ваучера должен быть в будущем.'],
  [
    'A note has at most {} characters, on one line.',
    'В заметке не больше {1} знаков в одну строку.',
  ],
  ['There is no voucher with the id {}. "farebox voucher list" shows them.', 'Ваучера {1} нет.'],
  [
    'It was redeemed at {}. What it was worth is corrected with "adjust".',
    'Ваучер использован {1}. Его сумму можно исправить корректировкой.',
  ],
  ['A deposit must be more than 0.', 'Пополнение должно быть больше 0.'],
  ['A correction must not be 0.', 'Корректировка не может быть 0.'],
  ['A {=} has no control characters.', '{1}: без управляющих знаков.'],
  ['A {=} has 1 to {} characters.', '{1}: от 1 до {2} знаков.'],
  ['reference', 'Основание'],
  ['reason', 'Причина'],
  [
    'A reference that begins with "voucher:" belongs to a voucher.',
    'Основание, которое начинается с «voucher:», бывает только у ваучера.',
  ],
  [
    'The reference "{...}" was booked before for something else.',
    'Основание «{1}» уже проведено для другого.',
  ],
  ['That would take more than the account has available.', 'На аккаунте столько не доступно.'],

  // Webhooks and unknown outcomes.
  [
    'The request has not ended. Its webhook is sent when it does.',
    'Запрос ещё не закончился. Вебхук уйдёт, когда он закончится.',
  ],
  ['This request has no webhook_url.', 'У этого запроса нет адреса вебхука.'],
  [
    'Two secrets are active already. Drop the older with --retire.',
    'Действуют уже два секрета. Сначала уберите старый.',
  ],
  [
    'Only one secret is active, and it stays. Make another with --rotate.',
    'Действует только один секрет, он остаётся. Сначала создайте другой.',
  ],
  [
    'The request has not ended: its answer may still come. Wait until it has.',
    'Запрос ещё не закончился: ответ может прийти. Дождитесь.',
  ],
  ['The outcome of this request is known.', 'Исход этого запроса известен.'],
  ['A note has 1 to {} characters.', 'В заметке от 1 до {1} знаков.'],
  ['What did not run has cost nothing.', 'То, что не выполнялось, ничего не стоило.'],
  [
    'What this request cost is booked already. It is booked once.',
    'Стоимость этого запроса уже проведена. Она проводится один раз.',
  ],
  ['{}: does not lead to a public address', '{1}: адрес не публичный'],
  ['{}: the name did not resolve', '{1}: имя не найдено'],
  ['{}: its certificate is for another name', '{1}: сертификат выдан на другое имя'],
  ['{}: its certificate has expired', '{1}: срок сертификата истёк'],
  ['{}: its certificate is not valid yet', '{1}: сертификат ещё не действует'],
  ['{}: its certificate is self-signed', '{1}: сертификат самоподписанный'],
  [
    '{}: its certificate comes from nobody that is trusted here',
    '{1}: сертификат выдан тем, кому здесь не доверяют',
  ],
  ['{}: no encrypted connection came about', '{1}: шифрованное соединение не установлено'],
  [
    '{}: it refuses the connection: nothing listens there',
    '{1}: соединение отклонено, там никто не слушает',
  ],
  ['{}: it cannot be reached from here', '{1}: отсюда недоступен'],
  ['{}: no connection came about in time', '{1}: соединение вовремя не установлено'],
  ['{}: the connection broke off', '{1}: соединение оборвалось'],
  ['{}: what it answered is not HTTP', '{1}: ответ не HTTP'],
  ['{}: the headers of its answer are too long', '{1}: заголовки ответа слишком длинные'],
  ['{}: not finished in time', '{1}: не уложился в срок'],
  ['{}: nothing moved for too long', '{1}: слишком долго не отвечал'],
  ['{}: given up', '{1}: прервано'],
  ['{}: given up before it began', '{1}: прервано до начала'],
  ['the URL {}', 'адрес: {1}'],
  ['answered {}', 'ответ {1}'],

  // Parts of sentences: what a field or an address must be.
  ['is not acceptable: it must be a public address', 'адрес должен быть публичным'],
  ['is not acceptable: {=}', 'не подходит: {1}'],
  [
    'must not contain blanks, control characters or backslashes',
    'нельзя пробелы, управляющие знаки и обратные косые черты',
  ],
  ['must be an absolute http or https URL', 'нужен полный адрес http или https'],
  ['is not a valid URL', 'это не адрес'],
  ['must be an https URL', 'нужен адрес https'],
  ['must not contain a user name or password', 'нельзя имя пользователя и пароль'],
  ['must not be longer than {} characters', 'не длиннее {1} знаков'],
  ['must not name port 0', 'нельзя порт 0'],
  ['must lead to a public address', 'адрес должен быть публичным'],
  ['must not lead back to this service', 'нельзя адрес этого же сервиса'],
  ['must not have a host name that ends with a dot', 'имя узла не должно кончаться точкой'],
  ['must have a valid host name', 'неверное имя узла'],
  ['must have a public host name', 'имя узла должно быть публичным'],
  ['is a link to an output whose time is over', 'это ссылка на результат, который уже не хранится'],
  [
    'is no signed link to an output, as response_url gives it',
    'это не подписанная ссылка на результат',
  ],
  ['must be one address, as a string', 'нужен один адрес текстом'],
  [
    'differs between the query and the body; give it once',
    'в адресе и в теле разное; укажите один раз',
  ],
  [
    'must be a file_id of POST /files, a public http(s) address or a base64 data: address',
    'нужен file_id, публичный адрес http(s) или data: в base64',
  ],
  [
    'names {}, and there is no such file of this account (files are kept 7 days)',
    'такого файла в аккаунте нет: {1} (файлы хранятся 7 дней)',
  ],
  [
    'names one host more than the {} that an input may name',
    'адресов с разными именами узлов больше {1}, а во вводе больше нельзя',
  ],
  [
    'is of the type {}, which {} does not take; it takes {}. Models that take it: {}',
    'тип {1} модель {2} не принимает; она принимает: {3}. Его принимают модели: {4}',
  ],
  [
    'is of the type {}, which {} does not take; it takes {}. No model takes it',
    'тип {1} модель {2} не принимает; она принимает: {3}. Его не принимает ни одна модель',
  ],
  [
    'may count as more than {=}; send less text, or no file',
    'может оказаться больше, чем {1}; сократите текст или уберите файл',
  ],
  ['{} tokens, the most that {} takes', '{1} токенов, предел модели {2}'],
  ['name more than {} files and addresses', 'больше {1} файлов и адресов'],
  ['names more than {} files and addresses', 'больше {1} файлов и адресов'],
  [
    'must be given: this model is priced per megapixel',
    'нужно указать: цена этой модели за мегапиксель',
  ],
  [
    'asks for {} megapixels in all; at most {} are allowed',
    'всего {1} мегапикселей; можно не больше {2}',
  ],
  ['asks for more than {} megapixels', 'больше {1} мегапикселей'],
  [
    'makes the price higher than {} USD, the most that one request may cost',
    'цена выше {1} USD, больше один запрос стоить не может',
  ],
  [
    'is not offered by this model; send image_size instead',
    'эта модель так не умеет; укажите image_size',
  ],
  [
    'and width with height say different sizes; send one of the two',
    'и width с height указывают разный размер; оставьте одно',
  ],
  ['must be given with {}, in whole pixels', 'нужно вместе с {1}, в целых пикселях'],
  ['has no price at this model', 'у этой модели нет цены для такого'],
  ['is required', 'нужно заполнить'],
  ['is missing; it must be {=}', 'не заполнено: нужно {1}'],
  ['is not a field of this model', 'у этой модели нет такого поля'],
  ['fits none of the allowed forms', 'не подходит ни под одну из допустимых форм'],
  [
    'fits more than one of the allowed forms, and only one may fit',
    'подходит под несколько допустимых форм, а можно под одну',
  ],
  ['needs {} or {}', 'нужно одно из: {1}, {2}'],
  ['needs {=}', 'нужно {1}'],
  ['does not fit the schema', 'не подходит модели'],
  ['must match {...}, in at most {} characters', 'нужно по образцу {1}, не больше {2} знаков'],
  ['must match "then" schema', 'не сочетается с другими полями'],
  ['must match "else" schema', 'не сочетается с другими полями'],
  ['must NOT have fewer than {} characters', 'не меньше {1} знаков'],
  ['must NOT have more than {} characters', 'не больше {1} знаков'],
  ['must NOT have fewer than {} items', 'не меньше {1} элементов'],
  ['must NOT have more than {} items', 'не больше {1} элементов'],
  ['must NOT have fewer than {} properties', 'не меньше {1} полей'],
  ['must NOT have more than {} properties', 'не больше {1} полей'],
  ['must NOT have duplicate items ({})', 'элементы не должны повторяться'],
  ['must NOT be valid', 'такое значение нельзя'],
  ['must be multiple of {}', 'должно делиться на {1}'],
  ['must be >= {}', 'не меньше {1}'],
  ['must be <= {}', 'не больше {1}'],
  ['must be > {}', 'больше {1}'],
  ['must be < {}', 'меньше {1}'],
  ['must hold at least one part', 'нужна хотя бы одна часть'],
  ['must hold at most {} messages', 'не больше {1} сообщений'],
  ['must have {=}', 'нужно {1}'],
  ['must not be empty', 'нельзя оставить пустым'],
  ['must look like 16:9, from 1:{} to {}:1', 'нужно как 16:9, от 1:{1} до {2}:1'],
  ['must be a file_id of POST /files', 'нужен file_id из POST /files'],
  ["must be below the video's length of {} s", 'нужно меньше длины видео, {1} с'],
  ['must be {=}; or {=}; or {=}', 'нужно {1}, или {2}, или {3}'],
  ['must be {=}; or {=}', 'нужно {1} или {2}'],
  ['must be {=}', 'нужно {1}'],
  ['one or more of {}, with commas between', 'одно или несколько через запятую: {1}'],
  ['one of {}', 'одно из: {1}'],
  ['the id of a request', 'id запроса'],
  ['the id of a request, or how it begins', 'id запроса или его начало'],
  ['a number of seconds above 0 and at most {}', 'число секунд больше 0 и не больше {1}'],
  ['a whole number from {} to {}', 'целое число от {1} до {2}'],
  ['a whole number of pixels from 1 to {}', 'целое число пикселей от 1 до {1}'],
  ['a whole number', 'целое число'],
  ['a number from {} to {}', 'число от {1} до {2}'],
  ['a number of pixels', 'число пикселей'],
  [
    '{"width": W, "height": H} in whole pixels, "WxH", or one of {}',
    '{"width": W, "height": H} в целых пикселях, «WxH» или одно из: {1}',
  ],
  [
    '{width, height}, "WxH" or a name such as square',
    '{width, height}, «WxH» или имя, например «square»',
  ],
  ['png, jpeg or webp', 'png, jpeg или webp'],
  ['images, video, audio, PDF and plain text', 'изображения, видео, звук, PDF и простой текст'],
  ['an image', 'изображение'],
  ['a picture', 'изображение'],
  ['a video', 'видео'],
  ['audio', 'звук'],
  ['a list, or one text', 'список или один текст'],
  ['a list with at least one message', 'список хотя бы из одного сообщения'],
  ['a text such as "16:9"', 'текст, например «16:9»'],
  ['a text of {} to {} characters', 'текст от {1} до {2} знаков'],
  ['a text, a number, true or false', 'текст, число, true или false'],
  ['a text that matches {}', 'текст по образцу {1}'],
  ['a text', 'текст'],
  ['a string or a list of strings', 'текст или список текстов'],
  ['a string or a list of parts', 'текст или список частей'],
  ['a string or an object', 'текст или объект'],
  ['a string', 'текст'],
  ['a number', 'число'],
  ['an integer of at least 1', 'целое число не меньше 1'],
  ['an integer', 'целое число'],
  ['boolean', 'true или false'],
  ['true or false', 'true или false'],
  ['an object with role and content', 'объект с role и content'],
  ['an object with an id', 'объект с id'],
  ['an object with {} and {}', 'объект с {1} и {2}'],
  ['an object with {}', 'объект с {1}'],
  ['an object', 'объект'],
  ['a list', 'список'],
  ['a JSON object', 'объект JSON'],
  ['text as a string', 'text текстом'],
  ['refusal as a string', 'refusal текстом'],
  ['image_url with a url', 'image_url с адресом url'],
  ['input_audio with data and format', 'input_audio с data и format'],
  ['file with file_id or file_data', 'file с file_id или file_data'],
  ['the id of a text model', 'id текстовой модели'],
  [
    '1; send one request for each completion you want',
    '1; на каждый ответ отправляйте отдельный запрос',
  ],
  ['equal to max_tokens where both are given', 'то же, что max_tokens, если указаны оба'],
  ['array', 'список'],
  ['string', 'текст'],
  ['number', 'число'],
  ['integer', 'целое число'],
  ['object', 'объект'],
  ['more than 0', 'больше 0'],
  [
    'a date, or a time with Z or an offset (write + as %2B), such as {}',
    'дата или время с Z или смещением (+ пишется %2B), например {1}',
  ],
  ['a text without NUL', 'текст без символа NUL'],
  ['a text of at most {} characters', 'текст не длиннее {1} знаков'],
  ['a whole number of at least {}', 'целое число не меньше {1}'],
  ['a list of {} to {} entries', 'список, записей: от {1} до {2}'],
  ['an id', 'id'],
  ['an address', 'адрес'],
  ['left out where before is given', 'без значения, когда задан «before»'],
  ['{=}, or null', '{1} или null'],
  [
    'whole micro-USD as a decimal text, such as "2500000" for 2.50 USD',
    'целое число микродолларов текстом, например «2500000» вместо 2.50 USD',
  ],
  [
    'whole micro-USD above 0 as a decimal text, such as "2500000" for 2.50 USD',
    'целое число микродолларов больше 0 текстом, например «2500000» вместо 2.50 USD',
  ],
  [
    'a time in UTC, such as 2027-01-31T00:00:00.000Z',
    'время по UTC, например 2027-01-31T00:00:00.000Z',
  ],
  [
    'a time to come in UTC, such as 2027-01-31T00:00:00.000Z',
    'время в будущем по UTC, например 2027-01-31T00:00:00.000Z',
  ],
  ['one text of at most {} characters', 'один текст не длиннее {1} знаков'],
  ['a next_cursor of this list', 'next_cursor этого списка'],
  ['1 to 100 characters on one line, {}', 'от 1 до 100 знаков в одну строку, {1}'],
  ['at most {}; ask the operator for more', 'не больше {1}; за большим обратитесь к оператору'],
  ['the id of a model, as GET /v1/models lists it', 'id модели из каталога'],
  ['IN_QUEUE or IN_PROGRESS', 'IN_QUEUE или IN_PROGRESS'],
  ['a {=}', '{1}'],
  ['it', 'Он'],
  ['{} and {=} more', '{1} и ещё {2}'],
  ['from 0 to {}', 'от 0 до {1}'],

  // Sentences about a field, whatever it is called.
  ["The input does not fit the model's schema: {} {=}.", 'Ввод не подходит модели. {1}: {2}.'],
  ['The input {=}.', 'Ввод: {1}.'],
];
