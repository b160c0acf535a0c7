/** Input schema for chat models whose row has none: OpenAI's chat body without `model`. */

export const chatInputSchema: Record<string, unknown> = {
  type: 'object',
  required: ['messages'],
  properties: {
    messages: {
      type: 'array',
      minItems: 1,
      description: 'The conversation so far, oldest first.',
      items: {
        type: 'object',
        required: ['role', 'content'],
        properties: {
          role: { enum: ['system', 'developer', 'user', 'assistant', 'tool'] },
          content: {
            description: 'A text, or a list of parts.',
            anyOf: [
              { type: 'string' },
              { type: 'array', items: { type: 'object' } },
              { type: 'null' },
            ],
          },
        },
      },
    },
    max_tokens: {
      type: 'integer',
      minimum: 1,
      description: 'Maximum number of completion tokens. Default: 4096.',
    },
    stream: { type: 'boolean', default: false, description: 'Answer as server-sent events.' },
  },
};

export const chatExample: Record<string, unknown> = {
  messages: [{ role: 'user', content: 'Say hello in three languages.' }],
  max_tokens: 100,
};
