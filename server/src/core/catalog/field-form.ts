/**
 * The upstream's side of a row's `input_mapping`: a field, and the form in which it wants a value.
 * Some want it as one of a few texts: with `duration:{}s` the value 8 is sent as the text `8s` in
 * `duration`, with `resolution:{A}` the value 2k as `2K`, and with `:` it is not sent at all. Pure.
 */
export interface FieldForm {
  /** Empty: it is not sent. */
  name: string;
  /** Null: the value is sent as it is. */
  form: string | null;
}

export function fieldForm(target: string): FieldForm {
  const at = target.indexOf(':');
  return at < 0
    ? { name: target, form: null }
    : { name: target.slice(0, at), form: target.slice(at + 1) };
}

export function formed({ form }: FieldForm, value: unknown): unknown {
  if (form === null) return value;
  const text = String(value);
  return form.replaceAll(/\{A?\}/g, (place) => (place === '{}' ? text : text.toUpperCase()));
}
