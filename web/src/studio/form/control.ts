import type { Control, Scalar } from './schema.ts';

/** The props of every control; the id links it to its label and messages. */
export interface ControlProps {
  id: string;
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
  error: string | undefined;
  required: boolean;
  /** The form's initial value; undefined if the schema has no default. */
  fallback: unknown;
  /** The value the service uses for an omitted field; undefined if unknown. */
  assumed: unknown;
  /** The unit price with this option, as text; null if the price does not depend on it. */
  priceOf: (option: Scalar) => string | null;
}

/** Further props of one kind of control. */
export type PropsOf<Name extends Control['as']> = ControlProps & {
  control: Extract<Control, { as: Name }>;
};
