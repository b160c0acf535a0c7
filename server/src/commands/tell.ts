import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { ApiError } from '../core/errors.ts';
import type { Reason } from '../core/reasons.ts';
import { CommandFailed, Refusal } from '../operations/refusal.ts';
import type { Terminal } from './output.ts';

/** The command that helps with an error. The web pages show the same errors without a command. */
const hints: Partial<Record<Reason, string>> = {
  account_unknown: '"farebox account list" shows them.',
  deposit_booked: 'Then use --allow-booked.',
  secret_last: 'Use --rotate.',
  secrets_two: 'Use --retire.',
  deposit_unknown: '"farebox deposit list" shows them.',
  voucher_unknown: '"farebox voucher list" shows them.',
  voucher_redeemed: 'See "farebox adjust --help".',
};

/**
 * Prints an expected error in words and returns 2; prints a bug with its stack and returns 1. With
 * --json the message is also printed on stdout.
 */
export function tell(error: unknown, terminal: Terminal, json: boolean): number {
  if (error instanceof CommanderError) return tellUsage(error, terminal, json);
  const { message: said, stack } = error instanceof Error ? error : new Error(String(error));
  const hint = error instanceof Refusal && hints[error.why.reason];
  const message = hint ? `${said} ${hint}` : said;
  if (json) tellJson(message, terminal);
  terminal.err(isExpected(error) ? message : (stack ?? message));
  // guard: refusal-exits-2
  return isExpected(error) ? 2 : 1;
}

/** Whether the error is a sentence for the operator, and not a bug. */
export function isExpected(error: unknown): error is Error {
  return [Refusal, ApiError, CommandFailed, ConfigError].some((each) => error instanceof each);
}

/** Commander has already printed the error on stderr, or the requested help. */
function tellUsage(error: CommanderError, terminal: Terminal, json: boolean): number {
  if (error.exitCode === 0) return 0;
  const help = error.code === 'commander.help';
  const message = help ? 'A verb is missing.' : error.message.replace(/^error: /, '');
  if (json) tellJson(message, terminal);
  return 2;
}

function tellJson(message: string, terminal: Terminal): void {
  terminal.out(JSON.stringify({ error: { message } }));
}
