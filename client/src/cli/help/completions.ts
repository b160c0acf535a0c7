import type { Command } from 'commander';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { open } from '../account.ts';
import { usage } from '../exits.ts';
import { keptJobs } from '../jobs/jobs.ts';
import type { Context } from '../verb.ts';
import { stateFolder, writePrivately } from '../settings.ts';
import { print } from '../terminal/terminal.ts';
import { fromJson } from '../../unknown.ts';

/**
 * Each shell runs `fare __complete WORD…`; the last word is the one to complete. The answers are
 * text from the service, so no shell may evaluate them or insert them unquoted.
 */
const scripts: Record<string, string> = {
  bash: String.raw`_fare() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <(fare __complete "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _fare fare`,
  zsh: String.raw`_fare() {
  local -a found
  found=("${'$'}{(@f)$(fare __complete "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- $found || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _fare fare`,
  fish: String.raw`function __fare_complete
  set -l words (commandline -opc) (commandline -ct)
  fare __complete $words[2..-1] 2>/dev/null
end
complete -c fare -a '(__fare_complete)'`,
};

export async function completions(_context: Context, shell: string): Promise<void> {
  const script = scripts[shell];
  if (script === undefined)
    throw usage(`There are completions for ${Object.keys(scripts).join(', ')}.`);
  print(script);
}

/** Returns the words that could replace the last one. */
export async function complete(program: Command, words: string[]): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const { command, operands, flag } = walk(program, words.slice(0, -1));
  const options = [...command.options, ...program.options];
  const value = options.find((option) => option.long === flag || option.short === flag);
  if (value && (value.required || value.optional)) {
    if (flag === '--model') return fitting(await modelIds(), typed);
    return fitting([...(value.argChoices ?? [])], typed);
  }
  if (typed.startsWith('-'))
    return fitting([...options.flatMap(({ long }) => long ?? []), '--help'], typed);
  const children = command.commands.map((each) => each.name());
  if (children.length > 0) return fitting(children, typed);
  const argument = command.registeredArguments[operands.length];
  if (argument?.name() === 'model') return fitting(await modelIds(), typed);
  if (argument?.name() === 'id')
    return fitting(['last', ...keptJobs().flatMap(({ request_id }) => request_id ?? [])], typed);
  if (argument?.name() === 'shell') return fitting(Object.keys(scripts), typed);
  if (argument?.name() === 'name')
    return fitting(['ask-above-usd', 'max-usd', 'chat-model'], typed);
  return [];
}

/** The verb, its operands so far, and an option that still needs its value. */
function walk(program: Command, words: string[]) {
  let command = program;
  const operands: string[] = [];
  let flag: string | null = null;
  for (const word of words) {
    const waits = flag !== null;
    flag = null;
    if (waits) continue;
    if (word.startsWith('-')) {
      const option = [...command.options, ...program.options].find(
        ({ long, short }) => long === word || short === word,
      );
      if (option && (option.required || option.optional)) flag = word;
      continue;
    }
    const child = command.commands.find((each) => each.name() === word);
    if (child) command = child;
    else operands.push(word);
  }
  return { command, operands, flag };
}

/**
 * The ids that begin with `typed`. They come from the service, so those that a shell could read as
 * more than one word are left out.
 */
function fitting(all: string[], typed: string): string[] {
  return all.filter((each) => /^[\w./:@+-]+$/.test(each) && each.startsWith(typed));
}

const idsKeptMs = 3_600_000;
/** Longest wait for ids, since the user has just pressed a key. */
const idsWaitMs = 1_500;

/** Cached for an hour, because a shell asks at every key press. */
async function modelIds(): Promise<string[]> {
  const client = open({ quiet: true });
  const file = path.join(stateFolder(), 'models.json');
  const kept = readIds(file, client.baseUrl);
  if (kept) return kept;
  try {
    const ids = (await client.models.list({ timeoutMs: idsWaitMs, maxRetries: 0 })).map(
      ({ id }) => id,
    );
    writePrivately(file, JSON.stringify({ base_url: client.baseUrl, ids }));
    return ids;
  } catch {
    return [];
  }
}

function readIds(file: string, baseUrl: string): string[] | null {
  try {
    if (Date.now() - statSync(file).mtimeMs > idsKeptMs) return null;
    const { base_url, ids } = fromJson<{ base_url: string; ids: string[] }>(
      readFileSync(file, 'utf8'),
    );
    return base_url === baseUrl ? ids : null;
  } catch {
    return null;
  }
}
