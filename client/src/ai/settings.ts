import type { SharedV4Warning } from '@ai-sdk/provider';
import type { Job } from '../job.ts';
import type { Model } from '../types.ts';
import { blobPart } from '../runtime.ts';
import { fieldOf, objectOf } from '../unknown.ts';

/** A file in a call, in the form that images and videos share. */
export type FilePart =
  | { type: 'file'; mediaType: string; data: string | Uint8Array }
  | { type: 'url'; url: string; mediaType?: string };

/**
 * Maps the SDK's settings to fields of a model's input, by the model's schema. A setting without a
 * matching field is left out, and the caller gets a warning.
 */
export class Settings {
  readonly input: Record<string, unknown> = {};
  readonly warnings: SharedV4Warning[] = [];
  readonly #modelId: string;
  readonly #properties: Record<string, unknown>;

  constructor({ id, input_schema }: Model) {
    this.#modelId = id;
    this.#properties = objectOf(input_schema.properties);
  }

  /** The first of these names that the model has as a field. */
  field(...names: string[]): string | undefined {
    return names.find((name) => Object.hasOwn(this.#properties, name));
  }

  maximum(name: string): number | undefined {
    const maximum = fieldOf(this.#properties[name], 'maximum');
    return typeof maximum === 'number' ? maximum : undefined;
  }

  /** Sets the first of these fields that the model has. */
  set(feature: string, value: unknown, ...names: string[]): void {
    if (value === undefined || value === null) return;
    const name = this.field(...names);
    if (name === undefined) this.unsupported(feature);
    else this.input[name] = value;
  }

  /**
   * Puts one file into a single field and several files into a list field. If the model has only a
   * single field, the first file is used and the caller gets a warning.
   */
  setFiles(feature: string, files: FilePart[], lists: string[], singles: string[]): void {
    if (files.length === 0) return;
    const values = files.map(valueOf);
    const single = this.field(...singles);
    const list = this.field(...lists);
    if (single !== undefined && (files.length === 1 || list === undefined)) {
      this.input[single] = values[0];
      if (files.length > 1) this.unsupported(feature, 'Only the first file is used.');
    } else if (list !== undefined) {
      this.input[list] = values;
    } else {
      this.unsupported(feature);
    }
  }

  /** Warns about fields that the caller set by hand but the model does not have. */
  unknown({ submitted }: Job): void {
    for (const { field, did_you_mean: likely } of submitted?.unknown_inputs ?? []) {
      const meant = likely === null ? '' : ` Did you mean ${likely}?`;
      this.unsupported(field, `${this.#modelId} has no input of this name.${meant}`);
    }
  }

  unsupported(feature: string, details?: string): void {
    this.warnings.push({ type: 'unsupported', feature, ...(details && { details }) });
  }
}

/** A URL is passed on; bytes become a Blob, which the submit uploads. */
function valueOf(file: FilePart): string | Blob {
  if (file.type === 'url') return file.url;
  const { data, mediaType } = file;
  const bytes =
    typeof data === 'string' ? Uint8Array.from(atob(data), (c) => c.charCodeAt(0)) : data;
  return new Blob([blobPart(bytes)], { type: mediaType });
}

/** `1280x720` as numbers. */
export function sizeOf(text: string): { width: number; height: number } {
  const [width = 0, height = 0] = text.split('x').map(Number);
  return { width, height };
}
