/**
 * Makes `instanceof` hold for the same class loaded twice: one program can have this package by
 * `import` and by `require`.
 */
export function brand(kind: { prototype: object }, name: string): void {
  const mark = Symbol.for(`@farebox/client ${name}`);
  Object.defineProperty(kind.prototype, mark, { value: true });
  Object.defineProperty(kind, Symbol.hasInstance, {
    value(this: unknown, value: unknown) {
      // A class that extends it asks for its own.
      if (this !== kind)
        return Function.prototype[Symbol.hasInstance].call(this as Function, value);
      return typeof value === 'object' && value !== null && mark in value;
    },
  });
}
