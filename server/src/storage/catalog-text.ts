import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { parseCatalogFile } from '../core/catalog-file.ts';
import type { ParsedFile, Problem } from '../core/catalog-file.ts';

/** Uses of YAML aliases one file may make, so that a few lines cannot unfold into gigabytes. */
const ALIASES_MAX = 1000;

export interface ParsedText extends ParsedFile {
  /** The name of the upstream that it defines, even where the rest of it is bad. */
  defines: string | null;
  /** Adds the line to a problem that was found later. */
  locate: (problem: Problem) => Problem;
}

/** Parses one file's text: YAML 1.2, strict, no key twice. Never throws. */
export function parseCatalogText(text: string, file: string): ParsedText {
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    merge: false,
    lineCounter: lines,
  });
  const named = doc.getIn(['upstream', 'name']);
  const defines = typeof named === 'string' ? named : null;
  const faults = [...doc.errors, ...doc.warnings];
  if (faults.length > 0) {
    const problems = faults.map(({ message, pos }) => ({
      file,
      path: '',
      message: `not valid YAML: ${firstLine(message)}.`,
      line: lines.linePos(pos[0]).line,
    }));
    return nothing(problems, defines);
  }
  const locate = (problem: Problem) => withLine(problem, doc, lines);
  try {
    const content: unknown = doc.toJS({ maxAliasCount: ALIASES_MAX });
    if (content === null) {
      return nothing([{ file, path: '', message: 'the file is empty; it needs models.' }], null);
    }
    const { problems, ...parsed } = parseCatalogFile(content, file);
    return { ...parsed, defines, problems: problems.map(locate), locate };
  } catch (error) {
    const message = `not a usable YAML: ${firstLine((error as Error).message)}.`;
    return nothing([{ file, path: '', message }], defines);
  }
}

function nothing(problems: Problem[], defines: string | null): ParsedText {
  return { upstream: null, defines, rows: [], problems, locate: (problem) => problem };
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
