import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { readConfig } from '../read-config.ts';
import { eventTypes } from '../core/operator-event.ts';
import type { Context, Terminal } from './output.ts';
import { tell } from './tell.ts';

/** The operator's command line. Each command has its own file and loads only what it needs. */

/** Resolves with the exit code, if it is not 0. */
type Verb<Options> = (context: Context, ...args: Options[]) => Promise<number | void>;

/** Makes a command's action from a function that loads its verb. */
type Run = (load: () => Promise<Verb<never>>) => (...args: unknown[]) => Promise<void>;

/** Runs one command to its end and returns the exit code; errors are printed. */
export async function runCommand(args: string[], terminal: Terminal): Promise<number> {
  const { program, exitCode } = commandLine(terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode();
  } catch (error) {
    return tell(error, terminal, args.includes('--json'));
  }
}

/** Every command, as `--help` shows it. */
export function commandLine(terminal: Terminal): { program: Command; exitCode(): number } {
  const withoutEnd = (text: string) => text.replace(/\n$/, '');
  const program = new Command('farebox')
    .description(
      'A prepaid gateway you host yourself: one key, one balance, every model behind it.',
    )
    .option('--json', 'print one JSON object')
    .version(manifest.version, '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.out(withoutEnd(text)),
      writeErr: (text) => terminal.err(withoutEnd(text)),
    })
    .exitOverride();
  let exitCode = 0;

  /** Makes an action that loads the command's file only when called, and runs its verb. */
  const run: Run =
    (load) =>
    async (...args) => {
      const command = args.at(-1);
      if (!(command instanceof Command)) throw new TypeError('Commander gives the command last');
      const json = Boolean(command.optsWithGlobals().json);
      const config = readConfig(terminal.env);
      // Commander passes the arguments and options that are declared below.
      const verbOf = (await load()) as unknown as Verb<unknown>;
      exitCode = (await verbOf({ ...terminal, config, json }, ...args.slice(0, -1))) ?? 0;
    };

  const groups = [
    addService,
    addAccounts,
    addPeople,
    addBookings,
    addKeys,
    addOperatorKeys,
    addVouchers,
    addUpstreams,
    addChains,
    addDeposits,
    addEvents,
    addRequests,
    addUnknown,
    addCatalog,
    addBooks,
  ];
  for (const add of groups) add(program, run);
  return { program, exitCode: () => exitCode };
}

function addService(program: Command, run: Run): void {
  verb(
    program,
    'trial',
    'start the whole product on embedded PostgreSQL with demo accounts (what npm start runs)',
  ).action(run(async () => (await import('./trial/trial.ts')).trial));
  verb(program, 'serve', 'start the service: API and worker')
    .option('--no-worker', 'API only; start `farebox worker` beside it')
    .option('--embedded', 'use the embedded PostgreSQL and a generated secret')
    .action(run(async () => (await import('./serve.ts')).serve));
  verb(program, 'worker', 'start a worker only')
    .option('--embedded', 'use the embedded PostgreSQL')
    .action(run(async () => (await import('./serve.ts')).work));
  verb(program, 'migrate', 'bring the database schema up to this version')
    .option('--ignore-others', 'even if processes of another version seem to live')
    .action(run(async () => (await import('./migrate.ts')).migrateDatabase));
}

function addAccounts(program: Command, run: Run): void {
  const account = program.command('account').description('accounts and their balances');
  verb(account, 'create', 'create an account')
    .argument('<email>')
    .option('--credit-usd <amount>', 'book a first deposit')
    .option('--operator', 'may use the operator pages')
    .action(run(async () => (await import('./account.ts')).create));
  verb(account, 'list', 'list accounts, newest first')
    .option('--limit <n>', 'how many', count, 100)
    .action(run(async () => (await import('./account.ts')).list));
  verb(account, 'show', 'show one account')
    .argument('<email>')
    .action(run(async () => (await import('./account.ts')).show));
  verb(account, 'suspend', "refuse the account's keys from the next call on")
    .argument('<email>')
    .action(run(async () => (await import('./account.ts')).suspend));
  verb(account, 'resume', 'undo a suspension')
    .argument('<email>')
    .action(run(async () => (await import('./account.ts')).resume));
  verb(account, 'price', 'multiply every price for one account, from the next call on')
    .argument('<email>')
    .argument('<factor>', '1 is the list price, 0.8 a fifth less, 0 free')
    .action(run(async () => (await import('./account.ts')).price));
  verb(
    account,
    'keys-by-api',
    'set whether the account may manage its keys by API, from the next call on',
  )
    .argument('<email>')
    .addArgument(new Argument('<on|off>', 'new accounts have on').choices(['on', 'off']))
    .action(run(async () => (await import('./account.ts')).keysByApi));
  verb(account, 'statement', "list the movements of an account's money, newest first")
    .argument('<email>')
    .option('--limit <n>', 'how many', count, 100)
    .action(run(async () => (await import('./account.ts')).statementOf));
  verb(account, 'webhook-secret', "print the secret that signs the account's notifications")
    .argument('<email>')
    .option('--rotate', 'make a new secret; the former one also signs until it is retired')
    .option('--retire', 'drop the older of two secrets')
    .action(run(async () => (await import('./account.ts')).webhookSecret));
}

function addPeople(program: Command, run: Run): void {
  const person = program.command('person').description('people who sign in to the web pages');
  verb(person, 'list', 'list people with their accounts and roles, newest first')
    .option('--limit <n>', 'how many', count, 100)
    .action(run(async () => (await import('./person.ts')).list));
  verb(
    person,
    'invite',
    'print a link that invites an address to a new account, or to an existing one',
  )
    .argument('<email>')
    .option('--account <email>', 'join this existing account; default: a new one')
    .option('--role <role>', 'owner, developer, billing or read_only; default: owner')
    .action(run(async () => (await import('./person.ts')).invite));
  verb(person, 'reset-link', 'print a link that sets a new password, good for an hour')
    .argument('<email>')
    .action(run(async () => (await import('./person.ts')).resetLink));
  verb(
    person,
    'email',
    'change the address that somebody signs in with, and sign their browsers out',
  )
    .argument('<email>')
    .argument('<new-email>')
    .action(run(async () => (await import('./person.ts')).setEmail));
  verb(person, 'disable-2fa', 'remove the authenticator app of somebody who has lost it')
    .argument('<email>')
    .action(run(async () => (await import('./person.ts')).disable2fa));
}

function addBookings(program: Command, run: Run): void {
  verb(program, 'credit', 'book a deposit; a repeated reference is booked only once')
    .argument('<email>')
    .argument('<usd>')
    .requiredOption(
      '--reference <text>',
      'name of the payment outside Farebox, such as a bank reference',
    )
    .option('--source <source>', 'where the money came from: paid, bonus or refund', 'paid')
    .option(
      '--expires <date>',
      'end of a bonus: its last day (UTC) or a time; what is unspent goes back',
    )
    .option('--note <text>', "for the operator's log")
    .action(run(async () => (await import('./credit.ts')).credit));

  verb(
    program,
    'adjust',
    'correct a balance; a negative amount lowers it, a repeated reference is booked only once',
  )
    .argument('<email>')
    .argument('<usd>', 'such as 5 or -0.50')
    .requiredOption(
      '--reference <text>',
      'name of the correction outside Farebox, such as a ticket',
    )
    .requiredOption('--reason <text>', 'the reason, for readers of the ledger')
    .option('--allow-debt', 'if more is taken than is available, the rest becomes a debt')
    .action(run(async () => (await import('./credit.ts')).adjust));
}

function addKeys(program: Command, run: Run): void {
  const key = program.command('key').description('API keys');
  verb(key, 'create', 'make a key and print it, once')
    .requiredOption('--account <email>', 'the account of the key')
    .option('--name <name>', 'a label', 'default')
    .option('--limit-usd <amount>', 'monthly spend limit of this key')
    .option('--rpm <n>', 'calls a minute', count)
    .option('--open-jobs <n>', 'open jobs', count)
    .option('--expires <date>', 'the key stops working after this day (UTC), or at this time')
    .option('--model <id...>', 'the only models it may use')
    .action(run(async () => (await import('./key.ts')).create));
  verb(key, 'list', 'list keys, newest first')
    .option('--account <email>', 'of one account')
    .option('--limit <n>', 'how many', count, 100)
    .action(run(async () => (await import('./key.ts')).list));
  verb(
    key,
    'limit',
    'change the limits of a key and of keys that its account makes later; "none" removes a limit',
  )
    .argument('<key-id>')
    .option('--limit-usd <amount>', 'monthly spend limit, or none')
    .option('--rpm <n>', 'calls a minute, or none')
    .option('--open-jobs <n>', 'open jobs, or none')
    .action(run(async () => (await import('./key.ts')).limit));
  verb(key, 'rotate', 'give a key a new secret and print it, once; its id and limits stay')
    .argument('<key-id>')
    .option('--overlap <hours>', 'how long the former secret works: 0 to 168', '24')
    .action(run(async () => (await import('./key.ts')).rotate));
  verb(key, 'revoke', 'refuse a key from the next call on')
    .argument('<key-id>')
    .action(run(async () => (await import('./key.ts')).revoke));
}

function addOperatorKeys(program: Command, run: Run): void {
  const key = program.command('operator-key').description("keys for the operator's API");
  verb(key, 'create', 'make an operator key and print it, once')
    .requiredOption('--scope <scope...>', 'its rights: read, accounts, keys, money')
    .option('--name <name>', 'a label, shown in the log', 'default')
    .addHelpText(
      'after',
      example('operator-key create --name billing --scope read money', 'for a payment system'),
    )
    .action(run(async () => (await import('./operator-key.ts')).create));
  verb(key, 'list', 'list operator keys, newest first')
    .option('--limit <n>', 'how many', count, 100)
    .action(run(async () => (await import('./operator-key.ts')).list));
  verb(key, 'revoke', 'refuse an operator key from the next call on')
    .argument('<operator-key-id>')
    .action(run(async () => (await import('./operator-key.ts')).revoke));
}

function addVouchers(program: Command, run: Run): void {
  const voucher = program.command('voucher').description('codes that customers redeem for money');
  verb(voucher, 'create', 'make vouchers and print their codes, once')
    .argument('<usd>', 'value of each voucher')
    .option('--count <n>', 'how many', count, 1)
    .option('--expires <date>', 'last day (UTC) on which they work, such as 2027-01-31')
    .option('--note <text>', 'a note, shown to operators')
    .action(run(async () => (await import('./voucher.ts')).create));
  verb(voucher, 'list', 'list vouchers, newest first')
    .option('--limit <n>', 'how many', count, 50)
    .action(run(async () => (await import('./voucher.ts')).list));
  verb(voucher, 'void', 'cancel a voucher that nobody has redeemed')
    .argument('<voucher-id>')
    .action(run(async () => (await import('./voucher.ts')).takeBack));
}

function addUpstreams(program: Command, run: Run): void {
  const upstream = program.command('upstream').description('services that run the models');
  verb(
    upstream,
    'list',
    'list upstreams: set up or not, queues, slots, pauses and failures',
  ).action(run(async () => (await import('./upstream.ts')).list));
  verb(
    upstream,
    'test',
    'check the address, credential and models of upstreams, at no cost; exit 1 if a check fails',
  )
    .argument('[name]', 'default: all that are set up')
    .addHelpText('after', example('upstream test fal', 'exit 2 if no catalog file defines it'))
    .action(run(async () => (await import('./upstream-check.ts')).test));

  verb(upstream, 'resume', 'end the pause of an upstream and the pauses of its models and keys')
    .argument('<name>')
    .option('--model <name>', 'only this model, by its name at the upstream')
    .action(run(async () => (await import('./upstream-check.ts')).resume));
}

function addChains(program: Command, run: Run): void {
  const chain = program.command('chain').description('blockchains that are read for deposits');
  verb(chain, 'list', 'list chains: how far each is read, or why it is not').action(
    run(async () => (await import('./chains/chain.ts')).list),
  );
  verb(chain, 'check', 'ask the endpoints of a chain whether they fit its file; no database needed')
    .argument('<name>')
    .addHelpText('after', example('chain check bsc', 'exit 1 if something is wrong'))
    .action(run(async () => (await import('./chains/chain-check.ts')).check));
  verb(chain, 'resume', 'go on reading a stopped chain, or read blocks again')
    .argument('<name>')
    .option('--from <height>', 'read again from this block on; a deposit is credited once', count)
    .addHelpText('after', example('chain resume bsc --from 71230000', 'after a missed deposit'))
    .action(run(async () => (await import('./chains/chain.ts')).resume));
}

function addDeposits(program: Command, run: Run): void {
  const deposit = program.command('deposit').description('deposits from blockchains');
  verb(deposit, 'xpub', 'make a wallet and print its public keys; offline, and nothing is stored')
    .option('--read', 'use an existing wallet, whose words you type')
    .addHelpText('after', example('deposit xpub', 'on a computer that you trust'))
    .action(run(async () => (await import('./chains/deposit-xpub.ts')).xpub));
  verb(deposit, 'check', 'compare the keys that are set with the database, and derive each address')
    .addHelpText('after', example('deposit check', 'exit 1 if something differs'))
    .action(run(async () => (await import('./chains/deposit-keys.ts')).check));
  verb(deposit, 'addresses', 'list deposit addresses with their paths and credited amounts')
    .option(
      '--since <time>',
      'only addresses with deposits since this time; amounts count from then on',
    )
    .option('--account <email>', 'of one account')
    .addHelpText(
      'after',
      example('deposit addresses --since 2027-01-31 --json', 'for a wallet that collects tokens'),
    )
    .action(run(async () => (await import('./chains/deposit-keys.ts')).list));
  verb(deposit, 'list', 'list deposits in final blocks, newest first')
    .option('--state <state>', 'held, credited or ignored')
    .option('--why <why>', 'such as review, unmatched or token')
    .option('--chain <name>', 'of one chain')
    .option('--account <email>', 'of one account')
    .option('--before <deposit-id>', 'only older ones')
    .option('--limit <n>', 'how many', count, 50)
    .addHelpText('after', example('deposit list --state held', 'deposits that wait for you'))
    .action(run(async () => (await import('./chains/deposit.ts')).list));
  for (const [name, says] of [
    ['credit', 'credit a held or ignored deposit, once; it is never undone'],
    ['assign', 'credit a deposit to this account'],
  ] as const) {
    const added = verb(deposit, name, says).argument('<deposit-id>');
    if (name === 'assign') added.argument('<email>');
    else
      added.option(
        '--account <email>',
        'needed if it has no account, or its token is not credited',
      );
    added
      .option('--allow-booked', 'credit it even if another booking names its transaction')
      .option('--reason <text>', "for the operator's log")
      .action(run(async () => (await import('./chains/deposit.ts'))[name]));
  }
  verb(deposit, 'ignore', 'ignore a held deposit; it may still be credited later')
    .argument('<deposit-id>')
    .requiredOption('--reason <text>', "for the operator's log")
    .action(run(async () => (await import('./chains/deposit.ts')).ignore));
  verb(deposit, 'rotate', 'derive new addresses from the key that is set now; earlier ones stay')
    .argument('<family>', 'evm or tron')
    .addHelpText('after', example('deposit rotate evm', 'after a new FAREBOX_XPUB_EVM was set'))
    .action(run(async () => (await import('./chains/deposit-keys.ts')).rotate));
  verb(deposit, 'rescan', 'read blocks once more, to find deposits that were missed')
    .argument('<chain>')
    .argument('[from]', 'first block', height)
    .argument('[to]', 'last block; default: the newest that was read', height)
    .option('--cancel', 'end an earlier rescan')
    .addHelpText(
      'after',
      example('deposit rescan bsc 71230000 71231000', 'a known deposit is not credited twice'),
    )
    .action(run(async () => (await import('./chains/deposit.ts')).rescan));
}

function addEvents(program: Command, run: Run): void {
  const event = program.command('event').description('events to the operator');
  verb(event, 'list', 'list events, newest first, and whether the webhook got them')
    .addOption(new Option('--type <type>', 'only of this type').choices(eventTypes))
    .option('--limit <n>', 'how many', count, 50)
    .action(run(async () => (await import('./event.ts')).list));
  verb(event, 'resend', 'send an event to the webhook again')
    .argument('<event-id>')
    .action(run(async () => (await import('./event.ts')).resend));
}

function addRequests(program: Command, run: Run): void {
  const request = program.command('request').description('requests of all accounts');
  verb(request, 'list', 'list requests, newest first')
    .option('--status <status>', 'only requests with this status')
    .option('--account <email>', 'of one account')
    .option('--model <id>', 'of one model')
    .option('--call-id <number>', "of a call with this number: ours or the caller's")
    .option('--limit <n>', 'how many', count, 50)
    .action(run(async () => (await import('./request.ts')).list));
  verb(request, 'show', 'show one request with its money, attempts and notifications')
    .argument('<request-id>', "the id, or a number of the call: x-request-id or the caller's own")
    .option('--input', "show the caller's input too")
    .action(run(async () => (await import('./request.ts')).show));
  verb(request, 'cancel', 'cancel a request that is still queued; nothing is charged')
    .argument('<request-id>')
    .action(run(async () => (await import('./request.ts')).cancel));
  verb(request, 'refund', 'give back the charge of a request, or a part of it; once per reference')
    .argument('<request-id>')
    .argument('[usd]', 'default: what is left of the charge')
    .requiredOption('--reference <text>', 'name of the refund outside Farebox, such as a ticket')
    .requiredOption('--reason <text>', 'the reason; the customer sees it in the statement')
    .action(run(async () => (await import('./request.ts')).refund));
  verb(request, 'resolve', 'note the outcome of a request whose outcome is unknown')
    .argument('<request-id>')
    .option('--attempt <n>', 'number of an attempt after which the next upstream was tried', count)
    .requiredOption('--outcome <outcome>', 'ran or did_not_run')
    .option('--cost-usd <amount>', 'its cost at the upstream, if it ran')
    .option('--note <text>', 'how you found out')
    .addHelpText(
      'after',
      example('request resolve ID --outcome did_not_run', 'an outcome can be resolved only once'),
    )
    .action(run(async () => (await import('./request.ts')).resolve));
}

function addUnknown(program: Command, run: Run): void {
  const unknown = program
    .command('unknown')
    .description(
      'unknown outcomes of requests, and of attempts after which the next upstream was tried',
    );
  verb(unknown, 'list', 'count unknown outcomes by upstream, and list the newest')
    .option('--upstream <name>', 'of one upstream')
    .option('--since <time>', 'only outcomes since this time')
    .option('--until <time>', 'only outcomes before this time')
    .option('--model <id>', 'of one model')
    .option('--limit <n>', 'how many', count, 50)
    .action(run(async () => (await import('./unknown.ts')).list));
  verb(
    unknown,
    'resolve',
    'note the same outcome for all unknown outcomes of an upstream since a time',
  )
    .requiredOption('--upstream <name>', 'of this upstream')
    .requiredOption('--since <time>', 'only outcomes since this time, such as 2027-01-31T12:00:00Z')
    .option('--until <time>', 'only outcomes before this time')
    .option('--model <id>', 'of one model')
    .requiredOption('--outcome <outcome>', 'ran or did_not_run')
    .option('--cost-usd <amount>', 'cost of each that ran')
    .option('--note <text>', 'how you found out')
    .addHelpText(
      'after',
      example(
        'unknown resolve --upstream openai --since 2027-01-31T12:00Z --outcome did_not_run',
        'repeating it changes nothing',
      ),
    )
    .action(run(async () => (await import('./unknown.ts')).resolve));
}

function addCatalog(program: Command, run: Run): void {
  const catalog = program.command('catalog').description('the catalog files');
  verb(catalog, 'check', 'check catalog files and explain each problem; exit 1 if there is one')
    .argument('[folder]')
    .option(
      '--live',
      'also ask the upstreams, to find models they lack and prices below their cost',
    )
    .addHelpText('after', example('catalog check --live', 'exit 0 if there are only warnings'))
    .action(run(async () => (await import('./catalog.ts')).check));

  verb(catalog, 'list', 'list the rows of the catalog files: live, hidden, or stopped and by whom')
    .addHelpText('after', example('catalog list', 'one line for each row'))
    .action(run(async () => (await import('./catalog-list.ts')).list));
  verb(catalog, 'stop', 'stop selling a model: none of its requests start until it is resumed')
    .argument('<model-id>')
    .option('--reason <text>', 'for the operator\u2019s log')
    .action(run(async () => (await import('./stop-model.ts')).stop));
  verb(catalog, 'resume', 'sell a stopped model again')
    .argument('<model-id>')
    .action(run(async () => (await import('./stop-model.ts')).resume));
}

function addBooks(program: Command, run: Run): void {
  verb(program, 'audit', 'check the laws of the ledger; exit 1 if one is broken')
    .option('--mend', 'compute wrong counters again, if no other law is broken')
    .action(run(async () => (await import('./audit.ts')).auditBooks));
  verb(program, 'export', 'write everything into one snapshot file')
    .argument('<file>')
    .action(run(async () => (await import('./snapshot.ts')).exportSnapshot));
  verb(program, 'import', 'read a snapshot into an empty database')
    .argument('<file>')
    .option('--release-open', 'end unfinished requests and release their reservations')
    .action(run(async () => (await import('./snapshot.ts')).importSnapshot));
  verb(
    program,
    'resume-after-restore',
    'after a restore from a backup: let the database start jobs and send notifications again',
  )
    .option('--dry-run', 'only show what it would do')
    .option('--release-open', 'end unfinished requests and release their reservations')
    .action(run(async () => (await import('./restored.ts')).resumeRestored));
  program
    .command('generate', { hidden: true })
    .description('write openapi.json and the generated pages')
    .action(async () => (await import('./generate.ts')).generate());
}

function verb(parent: Command, name: string, says: string): Command {
  return parent.command(name).description(says);
}

function example(call: string, note: string): string {
  return `\nExample (${note}):\n  npx farebox ${call}`;
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('must be a whole number above 0.');
  return Number(text);
}

/** The height of a block. */
function height(text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('must be the height of a block.');
  return BigInt(text);
}
