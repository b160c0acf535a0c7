import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { parseCatalogFile, unknownUpstreams } from '../core/catalog-file.ts';
import type { ParsedFile, Problem } from '../core/catalog-file.ts';

/** Uses of YAML aliases one file may make, so that a few lines cannot unfold into gigabytes. */
const ALIASES_MAX = 1000;

/**
 * Parses one file's text: YAML 1.2, strict, no key twice. Never throws. `known` are the upstreams
 * that a row may name; left out: any.
 */
export function parseCatalogText(
  text: string,
  file: string,
  known?: readonly string[],
): ParsedFile {
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    merge: false,
    lineCounter: lines,
  });
  const faults = [...doc.errors, ...doc.warnings];
  if (faults.length > 0) {
    const problems = faults.map(({ message, pos }) => ({
      file,
      path: '',
      message: `not valid YAML: ${firstLine(message)}.`,
      line: lines.linePos(pos[0]).line,
    }));
    return { rows: [], problems };
  }
  try {
    const content: unknown = doc.toJS({ maxAliasCount: ALIASES_MAX });
    if (content === null) {
      return {
        rows: [],
        problems: [{ file, path: '', message: 'the file is empty; it needs models.' }],
      };
    }
    const { rows, problems } = parseCatalogFile(content, file);
    // A row with a problem is not among the rows, so that their places count only without any.
    if (known && problems.length === 0) problems.push(...unknownUpstreams(file, rows, known));
    return { rows, problems: problems.map((problem) => withLine(problem, doc, lines)) };
  } catch (error) {
    const message = `not a usable YAML: ${firstLine((error as Error).message)}.`;
    return { rows: [], problems: [{ file, path: '', message }] };
  }
}

/** The line of the problem's own node, or of the nearest node around it. */
function withLine(problem: Problem, doc: Document.Parsed, lines: LineCounter): Problem {
  const keys = problem.path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  for (let n = keys.length; n >= 0; n--) {
    const node = doc.getIn(keys.slice(0, n), true) as
      | { range?: [number, number, number] }
      | undefined;
    if (node?.range) return { ...problem, line: lines.linePos(node.range[0]).line };
  }
  return problem;
}

function firstLine(message: string): string {
  return message.split('\n')[0]!.replace(/[:.]$/, '');
}
