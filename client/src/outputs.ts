import type { MediaFile } from './types.ts';
import { fieldOf, objectOf } from './unknown.ts';

/** Finds the files in an output, whose other fields depend on the model. */

export function isMediaFile(value: unknown): value is MediaFile {
  // Only the service's own file objects have both.
  return (
    typeof fieldOf(value, 'url') === 'string' && typeof fieldOf(value, 'content_type') === 'string'
  );
}

/** All files of an output, at any depth, in order. */
export function mediaIn(output: unknown): MediaFile[] {
  if (Array.isArray(output)) return output.flatMap(mediaIn);
  if (isMediaFile(output)) return [output];
  return Object.values(objectOf(output)).flatMap(mediaIn);
}
