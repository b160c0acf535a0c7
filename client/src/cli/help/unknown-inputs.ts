import type { Estimate } from '../../index.ts';
import { oneLine } from '../terminal/terminal.ts';

/**
 * Warnings about fields that the model does not have. They are ignored: the model's default is
 * used, and paid for, instead.
 */
export function unknownTexts({ model_id, unknown_inputs = [] }: Estimate): string[] {
  return unknown_inputs.map(({ field, did_you_mean }) => {
    const likely = did_you_mean === null ? '' : ` Did you mean ${did_you_mean}?`;
    return oneLine(`${field} is not an input of ${model_id}.${likely}`);
  });
}
