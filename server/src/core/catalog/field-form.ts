import { digitsOf } from '../../lib/long-integers.ts';

/**
 * The upstream's side of an entry in a row's `input_mapping`: the field's name, and the form in
 * which the upstream wants the value. With `duration:{}s` the value 8 is sent as the text `8s` in
 * `duration`, with `resolution:{A}` the value 2k is sent as `2K`, and with `:` the field is not
 * sent. Pure.
 */
export interface FieldForm {
  /** Empty: the field is not sent. */
  name: string;
  /** Null: the value is sent unchanged. */
  form: string | null;
}

export function fieldForm(target: string): FieldForm {
  const at = target.indexOf(':');
  return at < 0
    ? { name: target, form: null }
    : { name: target.slice(0, at), form: target.slice(at + 1) };
}

export function formatValue({ form }: FieldForm, value: unknown): unknown {
  if (form === null) return value;
  const text = String(digitsOf(value));
  return form.replaceAll(/\{A?\}/g, (place) => (place === '{}' ? text : text.toUpperCase()));
}
