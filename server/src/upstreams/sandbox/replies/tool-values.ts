/** Values for the arguments of tools, by the names of the fields, that an agent can run. */

/** A value for a field of this name and type; undefined if the name says nothing. */
export type ValueFor = (name: string, type: unknown) => unknown;

const command = /^(command|cmd|script|shell_command)$/;
const folder = /^(path|root|(.*_)?(cwd|dir|workdir|directory|folder))$/;
const file = /(^|_)(path|file|file_?name)s?$/;
const address = /(^|_)ur[il]$/;
const changing = /write|edit|create|delete|remove|patch|replace|save|move|rename|update/i;
/** Long enough for a tool that works, in any of the usual units. */
const timeoutUnits = 10_000;

/**
 * Values for one call of a tool. A path comes from the user's message, unless the name of the tool
 * says that it changes files: then it is a file of the sandbox's own.
 */
export function valuesFor(tool: string, message: string): ValueFor {
  const mentioned = changing.test(tool) ? null : pathIn(message);
  return (name, type) => {
    const field = name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
    if (type === 'boolean') return false;
    if (type === 'array') return command.test(field) ? ['echo', 'sandbox'] : undefined;
    if (type === 'integer' || type === 'number')
      return /timeout/.test(field) ? timeoutUnits : undefined;
    if (type !== 'string') return undefined;
    if (command.test(field)) return 'echo sandbox';
    if (folder.test(field)) return '.';
    if (file.test(field)) return mentioned ?? 'sandbox.txt';
    if (field === 'pattern' || field === 'glob') return '*';
    return address.test(field) ? 'https://example.com/' : undefined;
  };
}

const wordsMax = 20_000;

/** The last word that looks like a path: with a slash, or with a dot and an ending. */
function pathIn(message: string): string | null {
  const words = message
    .slice(-wordsMax)
    .replace(/\bsandbox:\S*/gi, ' ')
    .split(/[\s"'`<>(),;]+/)
    .map((word) => word.replace(/[.:!?]+$/, ''));
  const isPath = (word: string) =>
    !word.includes('://') &&
    /^(?=.*[\p{L}\p{N}])([^/]*\/.*|[\w.-]*\w\w\.[a-z]\w{0,7})$/iu.test(word);
  return words.findLast(isPath) ?? null;
}
