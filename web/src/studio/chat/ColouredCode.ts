import { common, createLowlight } from 'lowlight';
import { createElement, Fragment, useMemo, type ReactNode } from 'react';
import classes from './ColouredCode.module.css';

export interface CodeProps {
  language: string;
  code: string;
}

type Node = ReturnType<typeof lowlight.highlight>['children'][number];
const lowlight = createLowlight(common);

/** Code as spans with the colours of its language. */
export default function ColouredCode({ language, code }: CodeProps): ReactNode {
  return useMemo(() => spansOf(language, code), [language, code]);
}

function spansOf(language: string, code: string): ReactNode {
  return createElement(Fragment, {}, ...lowlight.highlight(language, code).children.map(drawn));
}

function drawn(node: Node): ReactNode {
  if (node.type === 'text') return node.value;
  if (node.type !== 'element') return null;
  const [kind] = (node.properties.className ?? []) as string[];
  const className = classes[kind?.replace('hljs-', '') ?? ''];
  return createElement('span', { className }, ...node.children.map(drawn));
}
