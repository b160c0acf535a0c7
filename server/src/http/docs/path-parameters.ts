import { exampleFileId, exampleId, exampleSignature } from './request-examples.ts';
import type { Parameter } from './route-docs.ts';

/** The parts of a path that differ from call to call, by their names in it. */
export const pathParameters: Record<string, Omit<Parameter, 'name' | 'in' | 'required'>> = {
  model_id: {
    description:
      'A catalog id, exactly as listed. It contains slashes: write them as they are, or as `%2F`.',
    schema: { type: 'string' },
    example: 'sandbox/canvas/text-to-image',
  },
  request_id: {
    description: 'As the submit returned it.',
    schema: { type: 'string', format: 'uuid' },
    example: exampleId,
  },
  index: {
    description: 'Which output, from 0.',
    schema: { type: 'integer', minimum: 0 },
    example: 0,
  },
  file_id: {
    description: 'As the upload returned it.',
    schema: { type: 'string', pattern: '^file_[0-9a-f]{32}$' },
    example: exampleFileId,
  },
  upstream: {
    description: 'Name of the upstream.',
    schema: { type: 'string' },
    example: 'fal',
  },
  attempt: {
    description: 'The attempt that it is about.',
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  sig: {
    description: "Farebox's signature of this address.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
    example: exampleSignature,
  },
};
