import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { readConfig } from '../read-config.ts';
import type { CommandRow, Run } from './command.ts';
import { print, type Terminal } from './output.ts';
import { programs } from './programs.ts';
import { tell } from './tell.ts';

/** The operator's command line. */

type Noun = [about: string, load: () => Promise<{ verbs: Record<string, CommandRow> }>];

const nouns: Record<string, Noun> = {
  account: ['accounts and their balances', () => import('./account.ts')],
  person: ['people who sign in to the web pages', () => import('./person.ts')],
  operator: ['people who run the service', () => import('./operator.ts')],
  key: ['API keys', () => import('./key.ts')],
  'operator-key': ["keys for the operator's API", () => import('./operator-key.ts')],
  voucher: ['codes that customers redeem for money', () => import('./voucher.ts')],
  model: ['how models are sold', () => import('./model.ts')],
  upstream: ['services that run the models', () => import('./upstream.ts')],
  chain: ['blockchains that are read for deposits', () => import('./chains/chain.ts')],
  deposit: ['deposits from blockchains', () => import('./chains/deposit.ts')],
  event: ['events to the operator', () => import('./event.ts')],
  request: ['requests of all accounts', () => import('./request.ts')],
  unknown: [
    'unknown outcomes of requests, and of attempts after which the next upstream was tried',
    () => import('./unknown-outcomes.ts'),
  ],
  banner: ['the text above all pages', () => import('./banner.ts')],
  storage: ['stored files and outputs', () => import('./storage.ts')],
  backup: ['backups by pg_dump', () => import('./backup.ts')],
  catalog: ['the catalog files', () => import('./catalog.ts')],
};

/** Runs one command to its end and returns the exit code; errors are printed. */
export async function runCommand(args: string[], terminal: Terminal): Promise<number> {
  try {
    const { program, exitCode } = await commandLine(terminal, args);
    await program.parseAsync(args, { from: 'user' });
    return exitCode();
  } catch (error) {
    return tell(error, terminal, args.includes('--json'));
  }
}

/** The commands, as `--help` shows them; with the verbs of those nouns that are named. */
export async function commandLine(
  terminal: Terminal,
  named: readonly string[] = Object.keys(nouns),
): Promise<{ program: Command; exitCode(): number }> {
  const program = programFor(terminal);
  let exitCode = 0;
  const run: Run = async (work) => {
    const json = Boolean(program.opts().json);
    const context = { ...terminal, config: readConfig(terminal.env), json };
    const result = await work(context);
    if (typeof result === 'object') print(context, result);
    exitCode = typeof result === 'object' ? (result.exit ?? 0) : (result ?? 0);
  };
  for (const [name, row] of Object.entries(programs))
    row(program.command(name, { hidden: name === 'generate' }), run);
  program.commandsGroup('Commands with verbs of their own:');
  for (const [name, [about, load]] of Object.entries(nouns)) {
    const noun = program.command(name).description(about);
    if (!named.includes(name)) continue;
    for (const [verb, row] of Object.entries((await load()).verbs)) row(noun.command(verb), run);
  }
  return { program, exitCode: () => exitCode };
}

function programFor(terminal: Terminal): Command {
  const withoutEnd = (text: string) => text.replace(/\n$/, '');
  return new Command('farebox')
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
}
