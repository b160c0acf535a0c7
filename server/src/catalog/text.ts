import {
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
} from 'yaml';
import {
  parseCatalogFile,
  type ParsedFile,
  type FileProblem,
} from '../core/catalog/catalog-file.ts';
import { integerOf } from '../lib/long-integers.ts';
import { messageOf } from '../lib/unknown.ts';

/**
 * Maximum number of uses of YAML aliases in a file, so that a few lines cannot unfold into
 * gigabytes.
 */
const aliasesMax = 1000;
/** Maximum number of characters of a comment that are shown. */
const noteMax = 2_000;

export interface ParsedText extends ParsedFile {
  /** The name of the upstream that the file defines, even if its other contents are invalid. */
  defines: string | null;
  /** Adds the line to a problem that was found later. */
  locate: (problem: FileProblem) => FileProblem;
  /** The comment at the file's head, which describes it. */
  note: string;
  /** Every row of the file in order, including invalid ones. */
  outline: RowOutline[];
}

export interface RowOutline {
  id: string;
  line: number;
  /** The comments before the row and beside its price and its cost. */
  note: string;
}

/** Parses one file's text as strict YAML 1.2 without duplicate keys. Never throws. */
export function parseCatalogText(text: string, file: string): ParsedText {
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    merge: false,
    intAsBigInt: true,
    lineCounter: lines,
  });
  const named = doc.getIn(['upstream', 'name']);
  const defines = typeof named === 'string' ? named : null;
  // Only the first error is reported, because it usually causes the others, as a tab does.
  const [fault] = [...doc.errors, ...doc.warnings];
  if (fault) {
    const { line } = lines.linePos(fault.pos[0]);
    const message = `not valid YAML: ${firstLine(fault.message)}.`;
    return emptyText([{ file, path: '', message, line }], defines);
  }
  keepIntegers(doc);
  const locate = (problem: FileProblem) => withLine(problem, doc, lines);
  try {
    const content: unknown = doc.toJS({ maxAliasCount: aliasesMax });
    if (content === null) {
      return emptyText([{ file, path: '', message: 'the file is empty; it needs models.' }], null);
    }
    const { problems, ...parsed } = parseCatalogFile(content, file);
    const said = { note: headNote(doc), outline: outlineOf(doc, lines) };
    return { ...parsed, ...said, defines, problems: problems.map(locate), locate };
  } catch (error) {
    const message = `not usable YAML: ${firstLine(messageOf(error))}.`;
    return emptyText([{ file, path: '', message }], defines);
  }
}

/** Integers become numbers, or long integers if a number would round them. */
function keepIntegers(doc: Document.Parsed): void {
  visit(doc, {
    Scalar(_, node) {
      if (typeof node.value === 'bigint') node.value = integerOf(node.value);
    },
  });
}

/** The result for a text without usable content. */
export function emptyText(problems: FileProblem[], defines: string | null): ParsedText {
  const locate = (problem: FileProblem) => problem;
  return { upstream: null, defines, rows: [], problems, locate, note: '', outline: [] };
}

/** The comment at the head; YAML attaches it to the first key if no empty line follows it. */
function headNote({ commentBefore, contents }: Document.Parsed): string {
  const first = isMap(contents) ? contents.items[0]?.key : null;
  return plain([commentBefore, contents?.commentBefore, isScalar(first) && first.commentBefore]);
}

function outlineOf(doc: Document.Parsed, lines: LineCounter): RowOutline[] {
  const models = doc.get('models');
  if (!isSeq(models)) return [];
  return models.items.flatMap((row) => {
    const id = isMap(row) ? row.get('id') : undefined;
    if (!isMap(row) || typeof id !== 'string') return [];
    return [{ id, line: lines.linePos(row.range![0]).line, note: rowNote(row) }];
  });
}

/** The comments before the row and beside its price and its cost. */
function rowNote(row: Node): string {
  const said: (string | null | undefined)[] = [row.commentBefore];
  visit(row, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !/^(cost|price|usd|extras)/.test(String(key.value))) return;
      said.push(key.commentBefore);
      if (isNode(value)) said.push(value.comment);
    },
  });
  return plain(said);
}

/** The comments without lines that are meant for editors. */
function plain(comments: readonly (string | null | undefined | false)[]): string {
  const text = comments.filter((each) => typeof each === 'string').join('\n');
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => !/^yaml-language-server:|^──/.test(line))
    .join('\n')
    .trim()
    .slice(0, noteMax);
}

/** Adds the line of the problem's node, or of the nearest node around it. */
function withLine(problem: FileProblem, doc: Document.Parsed, lines: LineCounter): FileProblem {
  const keys = problem.path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  for (let n = keys.length; n >= 0; n--) {
    const node = doc.getIn(keys.slice(0, n), true);
    if (isNode(node) && node.range) return { ...problem, line: lines.linePos(node.range[0]).line };
  }
  return problem;
}

function firstLine(message: string): string {
  return message.split('\n')[0]!.replace(/[:.]$/, '');
}
