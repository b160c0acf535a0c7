/** Exit codes of `fare`. Scripts depend on these numbers, so codes are added and never changed. */
export const exits = {
  done: 0,
  failed: 1,
  usage: 2,
  unauthorized: 3,
  money: 4,
  open: 5,
  unavailable: 6,
  interrupted: 130,
  /** Made by shells for a program that SIGTERM has ended. */
  terminated: 143,
} as const;

export type Exit = (typeof exits)[keyof typeof exits];

export const exitMeanings: [Exit, string][] = [
  [exits.done, 'Done.'],
  [
    exits.failed,
    'The request failed or was cancelled: the message says why. A failed job costs nothing; a chat that broke off is charged for the part received, or for all of it.',
  ],
  [exits.usage, 'The command, the model or its input is wrong; nothing was spent.'],
  [exits.unauthorized, 'There is no key, or the service rejects it.'],
  [
    exits.money,
    'The balance, a limit of the key, or the amount that you allow does not cover the price.',
  ],
  [
    exits.open,
    'The request is still running, or may be, although this command has ended; `fare resume` continues it. After `fare topup`: a deposit may still come.',
  ],
  [
    exits.unavailable,
    'The service cannot be reached, is full, or limits your rate of calls. This call spent nothing: try again later.',
  ],
  [
    exits.interrupted,
    'Interrupted by Ctrl-C; a request that was still in the queue was cancelled.',
  ],
  [
    exits.terminated,
    'Ended by SIGTERM, as by `timeout`, before a request was submitted, or in a chat, which is charged as at 1. A closed terminal gives 129. A submitted request gives 5.',
  ],
];

/** Ends the command with a message, the next step, and an exit code. */
export class Stop extends Error {
  readonly exit: Exit;
  readonly code: string;
  readonly hint: string | null;
  readonly details: Record<string, unknown>;

  constructor(
    exit: Exit,
    code: string,
    message: string,
    hint: string | null = null,
    details: Record<string, unknown> = {},
  ) {
    super(message);
    this.exit = exit;
    this.code = code;
    this.hint = hint;
    this.details = details;
  }
}

export function usage(message: string, hint: string | null = null): Stop {
  return new Stop(exits.usage, 'usage', message, hint);
}
