import assert from 'node:assert/strict';

type Json = Record<string, any>;

/** The chat completion that the chunks of a stream add up to, as OpenAI's clients read them. */
export function completionFromChunks(chunks: readonly Json[]): Json {
  const message: Json = { content: null };
  const calls: Json[] = [];
  const details: Json[] = [];
  let finish_reason: string | null = null;
  let usage: Json | undefined;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices ?? [];
    if (choice === undefined) continue;
    finish_reason = choice.finish_reason ?? finish_reason;
    const { role, tool_calls = [], reasoning_details = [], ...texts } = choice.delta;
    message.role ??= role;
    assert.equal(message.role, 'assistant', 'the first chunk names the role');
    for (const [field, text] of Object.entries(texts))
      message[field] = typeof text === 'object' ? text : `${message[field] ?? ''}${String(text)}`;
    for (const { index, ...piece } of tool_calls) {
      assert.ok(Number.isInteger(index));
      const kind = piece.type ?? calls[index]?.type;
      const [field, own] =
        kind === 'custom' ? ['input', piece.custom] : ['arguments', piece.function];
      if (calls[index] === undefined) calls[index] = { ...piece, [kind]: { ...own } };
      else calls[index][kind][field] += own[field];
    }
    for (const { index, ...piece } of reasoning_details) {
      const known = details.find((each) => each.index === index);
      if (known === undefined) details.push({ index, ...piece });
      else
        for (const [field, value] of Object.entries(piece))
          known[field] = ['text', 'summary'].includes(field)
            ? `${known[field] ?? ''}${String(value)}`
            : value;
    }
  }
  if (calls.length > 0) message.tool_calls = calls;
  if (details.length > 0) message.reasoning_details = details;
  return { choices: [{ index: 0, message, finish_reason }], ...(usage && { usage }) };
}
