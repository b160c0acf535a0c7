import { createElement, useMemo, type CSSProperties, type ReactNode } from 'react';
import temml from 'temml';
import { formulaMax } from './formula-marks.ts';

/** Deeper formulas stay as written; so do larger ones, in elements. */
const depthMax = 40;
const elementsMax = 5_000;

/** Nothing else is drawn: no links, no images, and no colours, which one of the schemes may hide. */
const elements = new Set(
  (
    'math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover ' +
    'mtable mtr mtd mmultiscripts mprescripts none mstyle mpadded mphantom'
  ).split(' '),
);
const attributes = new Set(
  (
    'stretchy lspace rspace minsize maxsize accent accentunder displaystyle display width height depth ' +
    'voffset scriptlevel fence form symmetric separator largeop movablelimits linethickness ' +
    'mathvariant columnalign rowspacing'
  ).split(' '),
);
const styles = new Set(
  (
    'textAlign mathDepth padding paddingTop paddingBottom paddingLeft paddingRight marginLeft ' +
    'fontWeight whiteSpace borderTop borderBottom borderLeft borderRight'
  ).split(' '),
);

export interface FormulaProps {
  tex: string;
  isDisplay: boolean;
  raw: string;
}

/** A node of temml's tree: an element, a text, or a fragment. */
interface Node {
  type?: string;
  text?: string;
  attributes?: Record<string, string>;
  style?: Record<string, string>;
  children?: Node[];
}

/** The formula as MathML; as it was written if it cannot be read. */
export default function Formula(props: FormulaProps): ReactNode {
  const { tex, isDisplay, raw } = props;
  return useMemo(() => mathOf(tex, isDisplay), [tex, isDisplay]) ?? raw;
}

/** A formula in TeX as MathML elements; null if it is wrong, too long, too deep, or asks for more. */
function mathOf(tex: string, isDisplay: boolean): ReactNode {
  if (tex.length > formulaMax || depthOf(tex) > depthMax) return null;
  const options = {
    displayMode: isDisplay,
    throwOnError: true,
    trust: false,
    maxExpand: 100,
    maxSize: [20, 20] as [number, number],
  };
  try {
    const left = { elements: elementsMax };
    const tree = temml.__renderToMathMLTree(tex, options) as Node;
    const math = drawn(tree, 0, left);
    return left.elements === elementsMax - 1 ? null : math;
  } catch {
    return null;
  }
}

/** How many braces, fences and environments are open at most; a script without braces counts. */
function depthOf(tex: string): number {
  let depth = 0;
  let most = 0;
  for (const [mark] of tex.matchAll(/\\(?:left|begin|end|right)(?![a-z])|\\?[{}]/gi)) {
    if (mark === '{' || mark === '\\left' || mark === '\\begin') depth++;
    if (mark === '}' || mark === '\\right' || mark === '\\end') depth--;
    most = Math.max(most, depth);
  }
  return most;
}

function drawn(node: Node, depth: number, left: { elements: number }): ReactNode {
  if (node.text !== undefined && node.children === undefined) return node.text;
  const { type, children = [] } = node;
  if (depth > 4 * depthMax || left.elements-- <= 0) throw new Error('The formula is too large.');
  const inside = children.map((child) => drawn(child, depth + 1, left));
  if (type === undefined) return inside;
  if (!elements.has(type)) throw new Error(`A formula may not have <${type}>.`);
  return createElement(type, { ...attributesOf(node), style: styleOf(node) }, ...inside);
}

function attributesOf({ attributes: all = {} }: Node): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => attributes.has(name))
      .map(([name, value]) => [name, String(value)]),
  );
}

function styleOf({ style = {} }: Node): CSSProperties {
  const camel = (name: string) => name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(style)
      .map(([name, value]) => [camel(name), String(value)] as const)
      .filter(([name, value]) => styles.has(name) && /^[\w\s.%-]*$/.test(value)),
  );
}
