import { useNavigate } from '@tanstack/react-router';
import { useEffect, type Dispatch, type SetStateAction } from 'react';
import { ApiFailure, faultsIn } from '../api.ts';
import type { Model } from '../api-types.ts';
import { notice } from '../components/frame/notice.ts';
import { showFailure } from '../components/Failure.tsx';
import { useRequest } from '../requests/request-data.ts';
import type { Input } from './form/draft.ts';
import { mediaOf, type Field } from './form/schema.ts';
import { addressOf } from './models.ts';
import { shownAs } from './runs/runs.ts';
import { errorText, useTranslation } from '../i18n.ts';

/** Values that a form gets from a request, and refusals of the service at its fields. */

/** Errors by the names of their fields. */
export type Faults = Record<string, string>;

/** Shows the service's errors at the fields that they name. */
export function useFaults(error: unknown, setWrong: Dispatch<SetStateAction<Faults>>): void {
  useEffect(() => {
    if (!(error instanceof ApiFailure) || error.status !== 400) return;
    const list = faultsIn(error.details);
    const wrong: Faults = {};
    for (const fault of list) {
      const [, name = '', ...inside] = fault.path.split('/').map(unescaped);
      const place = inside.length > 0 ? `${inside.join('.')}: ` : '';
      if (name !== '') wrong[name] ??= `${place}${errorText(fault)}`;
    }
    if (list.length === 0 && error.param) wrong[error.param] = errorText(error);
    setWrong(wrong);
  }, [error, setWrong]);
}

/** Unescapes a segment of a JSON pointer. */
function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Prefills the form from the address: the input of a request, or one of its outputs. */
export function useFilling(
  model: Model,
  fields: Field[],
  { from, use }: { from?: string | undefined; use?: string | undefined },
  replace: (input: Input) => void,
  set: (field: string, value: unknown) => void,
): void {
  const { t } = useTranslation('studio');
  const navigate = useNavigate();
  const [used, index = '0'] = use?.split('.') ?? [];
  const source = useRequest(from);
  const made = useRequest(used);
  const failure = source.error ?? made.error;
  const done = () => void navigate({ to: addressOf(model), search: {}, replace: true });

  useEffect(() => {
    if (!source.data) return;
    if (source.data.model_id !== model.id) {
      const to = addressOf({ id: source.data.model_id });
      void navigate({ to, search: { from }, replace: true });
      return;
    }
    replace(source.data.input);
    notice({ message: t('filled') });
    done();
    // Only once, when the request is loaded.
  }, [source.data]);
  useEffect(() => {
    const output = made.data?.outputs.find((each) => each.index === Number(index));
    if (!made.data) return;
    const field = output && fields.find(({ name }) => mediaOf(name) === shownAs(output));
    const isList = field?.control.as === 'media_list';
    if (field && output?.url) set(field.name, isList ? [output.url] : output.url);
    done();
    // Only once, when the request is loaded.
  }, [made.data]);
  useEffect(() => {
    if (failure) showFailure(failure);
  }, [failure]);
}
