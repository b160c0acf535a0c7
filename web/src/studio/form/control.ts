import type { Control, Scalar } from './schema.ts';

/** What every control is given: its id ties it to its label and to what is said about it. */
export interface Given {
  id: string;
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
  error: string | undefined;
  required: boolean;
  /** What the form begins with; undefined where the schema has no default. */
  fallback: unknown;
  /** What the service takes while the field is left out; undefined where it does not say. */
  assumed: unknown;
  /** What a unit costs with this option, in words; null where it does not hang on it. */
  priceOf: (option: Scalar) => string | null;
}

/** What a control of one sort is given besides. */
export type Of<Name extends Control['as']> = Given & {
  control: Extract<Control, { as: Name }>;
};
