import {
  exampleAccountId,
  exampleCard,
  exampleFileId,
  exampleId,
  exampleSignature,
} from './request-examples.ts';
import type { Parameter } from './route-docs.ts';

/** The variable parts of paths, by their names. */
export const pathParameters: Record<string, Omit<Parameter, 'name' | 'in' | 'required'>> = {
  model_id: {
    description:
      'A catalog id, exactly as listed. It contains slashes: write them as they are, or as `%2F`.',
    schema: { type: 'string' },
    example: 'sandbox/canvas/text-to-image',
  },
  request_id: {
    description: 'The id returned by the submit.',
    schema: { type: 'string', format: 'uuid' },
    example: exampleId,
  },
  account_id: {
    description: 'The id of the account.',
    schema: { type: 'string', format: 'uuid' },
    example: exampleAccountId,
  },
  key_id: {
    description: "The id of the account's key.",
    schema: { type: 'string', format: 'uuid' },
    example: exampleCard.key_id,
  },
  index: {
    description: 'Index of the output, from 0.',
    schema: { type: 'integer', minimum: 0 },
    example: 0,
  },
  file_id: {
    description: 'The id returned by the upload.',
    schema: { type: 'string', pattern: '^file_[0-9a-f]{32}$' },
    example: exampleFileId,
  },
  upstream: {
    description: 'Name of the upstream.',
    schema: { type: 'string' },
    example: 'fal',
  },
  attempt: {
    description: 'Number of the attempt.',
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  sig: {
    description: "Farebox's signature of this URL.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
    example: exampleSignature,
  },
};
