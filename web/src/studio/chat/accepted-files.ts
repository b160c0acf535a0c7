import type { Model } from '../../api-types.ts';
import { modalityOf } from './conversations.ts';
import { useTranslation } from '../../i18n.ts';

/** Files that the models of a conversation accept. */

export type Modality = ReturnType<typeof modalityOf>;

const modalities: Modality[] = ['image', 'audio', 'file'];
/** The service passes no more to a text model in one call. */
export const fileMaxBytes = 20 * 2 ** 20;

const accepted: Record<Modality, string> = {
  image: 'image/png,image/jpeg,image/webp,image/gif',
  audio: 'audio/*,.mp3,.wav,.m4a,.ogg,.flac',
  file: 'application/pdf,text/*,.md,.csv,.json',
};

/** The `accept` attribute for the browser's file dialog. */
export function acceptOf(taken: Modality[]): string {
  return taken.map((each) => accepted[each]).join(',');
}

/** The kinds of files that all of these models take. */
export function acceptedBy(models: Model[]): Modality[] {
  return modalities.filter((each) =>
    models.every(({ input_modalities = [] }) => input_modalities.includes(each)),
  );
}

/**
 * The part that a file of this type is sent as; null if no model accepts it. `type` is null for a
 * text. A video container may hold only audio.
 */
export function partFor(type: string | null): Modality | null {
  if (type === null || /^text\/|^application\/(?:pdf|xml)$/.test(type)) return 'file';
  if (type.startsWith('image/')) return 'image';
  return /^audio\/|^video\/(?:mp4|webm|matroska)$/.test(type) ? 'audio' : null;
}

/** A message about a file that a model does not accept; null if all of them do. */
export function useFileFault(models: Model[]): (type: string | null) => string | null {
  const { t, language } = useTranslation('chat');
  return (type) => {
    const part = partFor(type);
    const not = models.filter(
      ({ input_modalities = [] }) => part === null || !input_modalities.includes(part),
    );
    if (not.length === 0) return null;
    const taken = acceptedBy(models).map((each) => t(`takes.${each}`));
    const names = not.map(({ name }) => name);
    const list = new Intl.ListFormat(language);
    const model = list.format(names);
    if (taken.length === 0) return t('takes_none', { model });
    return t('not_taken', { model, taken: list.format(taken) });
  };
}
