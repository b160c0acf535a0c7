/**
 * The source marks guards with their names: `// guard: NAME` above a line of TypeScript, and
 * `-- guard: NAME` at the end of a line of SQL. If a guard is switched off,
 *
 * - an `if` or another statement never runs;
 * - a value (returned, assigned, of a property) is false;
 * - a line of SQL is left out.
 *
 * If this does not remove the guard, the marker gives the condition or value to use instead:
 * `guard: NAME (off: X)`.
 */
import fs from 'node:fs';
import path from 'node:path';

const above = /^\s*\/\/ guard: (\S+)(?: \(off: (.+)\))?$/;
/** A line of SQL with a guard. The template literal may end on the same line. */
const inSql = /^(.*\S) -- guard: ([\w-]+)(?: \(off: (.+)\))?(`.*)?$/;

/** The files of each guard, below this folder. */
export function findGuards(folder: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
    const file = path.join(folder, name);
    for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
      const guard = above.exec(line)?.[1] ?? inSql.exec(line)?.[2];
      if (guard) found.set(guard, [...new Set([...(found.get(guard) ?? []), file])]);
    }
  }
  return found;
}

/** The source with all guards of this name switched off. */
export function switchedOff(source: string, name: string): string {
  const lines = source.split('\n');
  for (const [i, line] of lines.entries()) {
    const [, inCode, off] = above.exec(line) ?? [];
    if (inCode === name) {
      // One line may have several names.
      const at = lines.findIndex((each, n) => n > i && !above.test(each));
      lines[at] = codeWithout(lines[at]!, off);
    }
    const [, clause, guard, instead, rest = ''] = inSql.exec(line) ?? [];
    if (guard === name) lines[i] = sqlWithout(clause!, instead) + rest;
  }
  return lines.join('\n');
}

function sqlWithout(clause: string, off: string | undefined): string {
  if (off === undefined) return '';
  return clause.replace(/^(\s*(?:where |and |else )?).*?(,?)$/, (_, head, end) => head + off + end);
}

function codeWithout(line: string, off = 'false'): string {
  const isStatement = /^\s*if \(|^(?!\s*(?:return|const) ).*;$/.test(line);
  if (isStatement && off === 'false') return line.replace(/^\s*/, '$&if (false) ');
  const operator = off === 'false' || off === 'undefined' ? '&&' : '||';
  return line.replace(
    /^\s*(?:if \(|return |const \w+ = |\w+: )?/,
    (head) => `${head}${off} ${operator} `,
  );
}
