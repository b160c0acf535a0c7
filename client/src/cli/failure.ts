import { CommanderError } from 'commander';
import type { FareboxError } from '../error.ts';
import { formatUsd } from '../money.ts';
import type { TopUpAddress } from '../types.ts';
import { codeOf, fieldOf, messageOf } from '../unknown.ts';
import { exits, Stop, type Exit } from './exits.ts';
import { connection } from './settings.ts';
import { jsonOf, say, tell } from './terminal/terminal.ts';

/** How a command fails: a message on stderr, the next step, and an exit code. */

const exitOf: Record<string, Exit> = {
  unauthorized: exits.unauthorized,
  forbidden: exits.unauthorized,
  insufficient_balance: exits.money,
  key_limit_reached: exits.money,
  price_above_limit: exits.money,
  bad_request: exits.usage,
  unknown_model: exits.usage,
  unpriceable: exits.usage,
  invalid_input: exits.usage,
  bad_webhook_url: exits.usage,
  bad_messages: exits.usage,
  use_chat_completions: exits.usage,
  payload_too_large: exits.usage,
  unsupported_media_type: exits.usage,
  rate_limited: exits.unavailable,
  capacity_unavailable: exits.unavailable,
  submit_failed: exits.unavailable,
  internal_error: exits.unavailable,
  connection_error: exits.unavailable,
  timeout: exits.unavailable,
  unexpected_reply: exits.unavailable,
};

export async function endWith(error: unknown): Promise<Exit> {
  if (error instanceof CommanderError) return endUsage(error);
  const known = error instanceof Stop ? error : await stopOf(error);
  if (known === null) {
    const { stack, message } = error instanceof Error ? error : new Error(String(error));
    tell(stack ?? message);
    tellJson('internal', message, {});
    return exits.failed;
  }
  // An empty message was already printed where it happened.
  if (known.message !== '') {
    const sign = known.exit === exits.open ? 'yellow' : 'red';
    say(sign, known.message);
    if (known.hint) say('dim', known.hint);
    tellJson(known.code, known.message, known.details);
  }
  return known.exit;
}

/** Commander has printed the error, or the help that was asked for. */
function endUsage(error: CommanderError): Exit {
  if (error.exitCode === 0) return exits.done;
  const isHelp = error.code === 'commander.help';
  const message = isHelp ? 'A verb is missing.' : error.message.replace(/^error: /, '');
  tellJson('usage', message, {});
  return exits.usage;
}

function tellJson(code: string, message: string, details: Record<string, unknown>): void {
  if (!process.argv.includes('--json')) return;
  process.stdout.write(`${jsonOf({ error: { code, message, ...details } })}\n`);
}

/**
 * The message and exit code of an error; null for a bug in this program. `tried`: the address at
 * which a new key was tried.
 */
export async function stopOf(error: unknown, tried?: string): Promise<Stop | null> {
  // If a FareboxError was thrown, the module is already loaded.
  const { FareboxError } = await import('../error.ts');
  if (!(error instanceof FareboxError)) return systemStop(error);
  // A call that may have been accepted gets no exit code that invites a retry, because the retry
  // would be charged again.
  const exit = error.mayHaveBeenAccepted ? exits.failed : (exitOf[error.code] ?? exits.failed);
  const details: Record<string, unknown> = { type: error.type, status: error.status };
  if (error.requestId) details.request_id = error.requestId;
  if (error.callId) details.call_id = error.callId;
  if (error.param) details.param = error.param;
  if (Object.keys(error.details).length > 0) details.details = error.details;
  return new Stop(
    exit,
    error.code,
    tried !== undefined && error.code === 'unauthorized'
      ? 'The service did not accept this key.'
      : failureMessage(error, tried),
    chargeHint(error) ?? hintOf(error, tried),
    details,
  );
}

/**
 * System errors such as a full disk or a read-only folder are not our bugs, so they get no stack.
 */
function systemStop(error: unknown): Stop | null {
  const code = codeOf(error);
  const isSystem = code !== '' && fieldOf(error, 'syscall') !== undefined;
  return isSystem ? new Stop(exits.failed, code.toLowerCase(), messageOf(error)) : null;
}

export function failureMessage({ message, status, details }: FareboxError, tried?: string): string {
  const faults: Fault[] = Array.isArray(details.errors) ? details.errors : [];
  // The user of a command has no idempotency key to send again, and no baseUrl.
  const said = faults
    .reduce(
      (text, { path, message: why }) => text.replace(`${path} ${why}`, `${nameOf(path)} ${why}`),
      message,
    )
    .replace('Check baseUrl:', `Check ${addressName(tried)}:`)
    .replaceAll(/ [^.]*\bidempotencyKey "[^"]*"[^.]*\./g, '')
    // Our hint says the same.
    .replace(/ Check [^.]*that the service runs, then try again\./, '');
  if (status === 402) return [said, ...figuresOf(details)].join('\n');
  // The message names only the first fault.
  if (faults.length < 2) return said;
  const lines = faults.map((fault) => `  ${nameOf(fault.path)}: ${fault.message}`);
  return [said, ...lines].join('\n');
}

interface Fault {
  /** A JSON pointer. */
  path: string;
  message: string;
}

/** `/image_urls/0` as `image_urls[0]`, the name that the command line gives. */
function nameOf(path: string): string {
  const steps = path.split('/').slice(1);
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const [first = 'input', ...rest] = names;
  return rest.reduce(
    (name, step) => `${name}${/^\d+$/.test(step) ? `[${step}]` : `.${step}`}`,
    first,
  );
}

function addressName(tried?: string): string {
  if (tried !== undefined) return 'the address';
  return process.env.FAREBOX_BASE_URL ? 'FAREBOX_BASE_URL' : 'the saved address';
}

/** `Required $0.01, available $0.00.` */
function figuresOf(details: FareboxError['details']): string[] {
  const figures = Object.entries(details).flatMap(([name, amount]) =>
    typeof amount === 'bigint' ? [`${name.replace('_usd_micro', '')} ${formatUsd(amount)}`] : [],
  );
  const text = `${figures.join(', ')}.`;
  return figures.length > 0 ? [text[0]!.toUpperCase() + text.slice(1)] : [];
}

/** The charge of a chat that broke off, in words; null if it costs nothing. */
export function chargeHint({ mayHaveBeenAccepted, details }: FareboxError): string | null {
  if (!mayHaveBeenAccepted) return null;
  const { charged_usd_micro: charged } = details;
  return charged === undefined
    ? 'You may be charged for this reply: `fare list` shows the charge.'
    : `Charged ${formatUsd(charged)} for the part received.`;
}

function hintOf(error: FareboxError, tried?: string): string | null {
  const { code, details, status, callId } = error;
  const baseUrl = tried ?? connection().baseUrl;
  const pages = new URL(baseUrl).origin;
  const inputHint = `\`fare model ${details.model_id ?? 'ID'}\` shows the inputs.`;
  const hints: Record<string, string> = {
    unauthorized: badKeyHint(tried !== undefined, pages),
    unknown_model: '`fare models` lists the ids.',
    invalid_input: inputHint,
    unpriceable: inputHint,
    use_chat_completions: 'Use `fare chat`.',
    insufficient_balance: topUpHint(details, `${pages}/dashboard/money/top-up`),
    key_limit_reached: `Raise the limit of the key at ${pages}/dashboard/keys, or use another key.`,
    connection_error: `Is ${baseUrl} the right address, and is the service running?`,
    request_not_ready: stateHint(details),
    not_cancellable: stateHint(details),
    expired: 'Run it again: outputs are kept for 24 hours.',
  };
  if (hints[code] !== undefined) return hints[code];
  // A fault that only the operator can explain.
  return callId !== null && status !== null && status >= 500
    ? `If you ask the operator for help, quote ${callId}.`
    : null;
}

/** The next step if a request is not in the state that the call needs. */
function stateHint({ status, request_id: id = 'ID' }: FareboxError['details']): string {
  return status === 'IN_QUEUE' || status === 'IN_PROGRESS' || status === undefined
    ? `\`fare wait ${id}\` waits for its end.`
    : `It has ended: \`fare status ${id}\` shows how.`;
}

/** `2.00 USDT or more on TRON (TRC20) to T… (only this token …)` */
export function topUpText({ title, token, address, minimum_usd_micro }: TopUpAddress): string {
  const amount = `${formatUsd(minimum_usd_micro).slice(1)} ${token} or more`;
  return `${amount} on ${title} to ${address} (only this token, and only on this network)`;
}

function topUpHint({ top_up = [] }: FareboxError['details'], page: string): string {
  if (top_up.length === 0) return `Top up at ${page}`;
  const ways = top_up.map((to) => `Send ${topUpText(to)}`).join('\n');
  return `${ways}\n\`fare topup\` waits until the deposit is credited. Other ways: ${page}`;
}

function badKeyHint(isNew: boolean, pages: string): string {
  if (isNew) return `Not saved. Your keys: ${pages}/dashboard/keys`;
  return process.env.FAREBOX_API_KEY
    ? 'The key is the one in FAREBOX_API_KEY.'
    : 'Run `fare login` with another key.';
}
