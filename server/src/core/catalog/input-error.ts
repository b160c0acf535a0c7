import type { ReasonDetails } from '../reasons.ts';

/** A rule of a model's input schema that an input breaks. */
export interface InputError {
  /** JSON pointer into the input; '' is the input itself. */
  path: string;
  message: string;
  /** The broken rule as data: its code and the values for a message. */
  rule: ReasonDetails;
}
