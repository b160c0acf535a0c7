// Stands in for `react`: libraries are written for React, and Preact does the same in fewer bytes.
import { options } from 'preact';

export * from 'preact/compat';
export { default } from 'preact/compat';

/** A hidden part leaves the page, while React would keep it there with its state. */
export const Activity = ({ mode, children }) => (mode === 'hidden' ? null : children);

// Before the next event, as React's effects do, or a quick second key would meet the old focus.
options.requestAnimationFrame = queueMicrotask;

/** Browsers obey `autofocus` only while a document loads, React whenever such a field appears. */
const appeared = new WeakSet();
const { vnode: before } = options;
options.vnode = (vnode) => {
  before?.(vnode);
  const { type, props, ref } = vnode;
  if (typeof type !== 'string' || !(props.autofocus ?? props.autoFocus)) return;
  vnode.ref = (field) => {
    if (field && !appeared.has(field)) field.focus();
    if (field) appeared.add(field);
    if (typeof ref === 'function') return ref(field);
    if (ref) ref.current = field;
  };
};
