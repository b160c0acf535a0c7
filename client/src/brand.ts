/**
 * Makes `instanceof` work across two copies of the same class, because one program can load this
 * package by both `import` and `require`.
 */
export function brand(kind: { prototype: object }, name: string): void {
  const mark = Symbol.for(`@farebox/client ${name}`);
  Object.defineProperty(kind.prototype, mark, { value: true });
  Object.defineProperty(kind, Symbol.hasInstance, {
    value(this: CallableFunction, value: unknown) {
      // A subclass checks its own prototype.
      if (this !== kind) return Function.prototype[Symbol.hasInstance].call(this, value);
      return typeof value === 'object' && value !== null && mark in value;
    },
  });
}
