import type { Argument, Command, Option } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import { exitMeanings } from '../exits.ts';
import { buildProgram } from '../program.ts';
import { remarksOf } from '../verb.ts';

/** Generates the man page and the tables of docs/fare.md from the definitions of the verbs. */

/** Every verb with an action, in the order of the help. */
function verbsOf(program: Command): Command[] {
  return program.commands.flatMap((command) =>
    command.commands.length > 0 ? verbsOf(command) : [command],
  );
}

function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

function synopsis(command: Command): string {
  const parts = command.registeredArguments.map(termOf);
  if (command.options.length > 0) parts.unshift('[options]');
  return [nameOf(command), ...parts].join(' ');
}

function termOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function saidOf({ description, argChoices }: Option): string {
  return argChoices ? `${description}: ${argChoices.join(', ')}` : description;
}

const beginMark = '<!-- From here on made by `npm run generate`. -->';

const environment: [string, string][] = [
  ['FAREBOX_API_KEY', 'The key; used instead of the saved one.'],
  [
    'FAREBOX_BASE_URL',
    'The address of the service, such as `https://fare.example.com/v1`; used instead of the saved one.',
  ],
  [
    'FAREBOX_WEBHOOK_SECRET',
    'The secret that `fare webhook listen` verifies with; separate several secrets by spaces.',
  ],
  ['FAREBOX_MCP_TOKEN', 'The token that `fare mcp --http` expects from its callers.'],
  ['NO_COLOR', 'Turns colours off. Output to a pipe never has colours.'],
  [
    'XDG_CONFIG_HOME, XDG_STATE_HOME',
    'Where to keep the files below, instead of the usual folders.',
  ],
];

const files: [string, string][] = [
  [
    '~/.config/farebox/settings.json',
    'Address, key and settings; only you can read it. On macOS below `~/Library/Application Support`, on Windows below `%APPDATA%`.',
  ],
  [
    '~/.local/state/farebox/jobs/',
    'The last 50 requests that were run here, so that `fare resume` finds them.',
  ],
];

/** The page: its hand-written beginning, then the generated tables after the mark. */
export function referencePage(page: string): string {
  const head = page.split(beginMark)[0]!.trimEnd();
  const program = buildProgram();
  const parts = [
    head,
    beginMark,
    '## Reference',
    '`fare VERB --help` and `man fare` explain the options and show examples.',
    table(
      ['call', 'what it does'],
      verbsOf(program).map((verb) => [code(synopsis(verb)), sentence(verb.description())]),
    ),
    '## Exit codes',
    table(
      ['exit code', 'meaning'],
      exitMeanings.map(([code, says]) => [`\`${code}\``, says]),
    ),
    '## Environment',
    table(
      ['variable', 'meaning'],
      environment.map(([name, says]) => [code(name), says]),
    ),
    '## Files',
    table(
      ['path', 'what'],
      files.map(([name, says]) => [code(name), says]),
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

function code(text: string): string {
  return text
    .split(', ')
    .map((one) => `\`${one}\``)
    .join(', ');
}

function table(headings: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), `|${'---|'.repeat(headings.length)}`, ...rows.map(line)].join('\n');
}

export function manPage(): string {
  const program = buildProgram();
  const verbs = verbsOf(program);
  const lines = [
    `.TH FARE 1 "" "Farebox ${manifest.version}" "Farebox"`,
    '.SH NAME',
    `fare \\- ${roff(program.description().replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    ...verbs.flatMap((verb) => [`.B ${roff(synopsis(verb))}`, '.br']),
    '.SH DESCRIPTION',
    ...paragraphs(remarksOf(program).says),
    '.SH OPTIONS',
    ...program.options.flatMap(optionLines),
    '.SH VERBS',
    ...verbs.flatMap(verbLines),
    '.SH EXIT STATUS',
    ...exitMeanings.flatMap(([status, says]) => ['.TP', String(status), roff(says)]),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, says]) => ['.TP', `.B ${roff(name)}`, roff(says)]),
    '.SH FILES',
    ...files.flatMap(([name, says]) => ['.TP', `.I ${roff(name)}`, roff(says)]),
  ];
  return `${lines.join('\n')}\n`;
}

function verbLines(verb: Command): string[] {
  const { says, examples } = remarksOf(verb);
  return [
    `.SS ${roff(synopsis(verb))}`,
    ...paragraphs([sentence(verb.description()), ...says]),
    ...verb.registeredArguments.flatMap((one) => [
      '.TP',
      `.I ${roff(termOf(one))}`,
      roff(one.description),
    ]),
    ...verb.options.flatMap(optionLines),
    ...examples.flatMap(([call, what]) => [
      '.PP',
      `${roff(sentence(what))}`,
      '.EX',
      roff(call),
      '.EE',
    ]),
  ];
}

function optionLines(option: Option): string[] {
  return ['.TP', `.B ${roff(option.flags)}`, roff(saidOf(option))];
}

function paragraphs(texts: string[]): string[] {
  return texts.flatMap((text) => ['.PP', roff(text)]);
}

/** Backticks have no meaning in roff; dashes, and a dot or quote at the beginning of a line, do. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('`', '')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
}
