import type { Control } from './schema.ts';

/** What every control is given: its id ties it to its label and to what is said about it. */
export interface Given {
  id: string;
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
  error: string | undefined;
  required: boolean;
}

/** What a control of one sort is given besides. */
export type Of<Name extends Control['as']> = Given & {
  control: Extract<Control, { as: Name }>;
};
