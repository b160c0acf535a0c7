/** Writes the call that an upstream gets in one line, which is the same for every API. */

type Json = Record<string, any>;

export const heard: Record<string, (body: Json) => string> = {
  completions: ({ messages }) => joined(messages.flatMap(fromCompletions)),
  messages: ({ system = [], messages }) =>
    joined([
      ...[system].flat().map((each: any) => `system ${each.text ?? each}`),
      ...messages.flatMap(fromMessages),
    ]),
  responses: ({ input }) => joined(input.flatMap(fromResponses)),
};

const joined = (said: string[]): string => said.join(' / ');

function fromCompletions({ role, content, ...message }: Json): string[] {
  if (role === 'tool')
    return [`result ${message.tool_call_id} ${content?.map?.(partIn) ?? content}`];
  const thoughts = [
    message.reasoning_content,
    ...(message.reasoning_details ?? []).map(
      (each: Json) => each.text ?? each.summary ?? each.data,
    ),
  ];
  const calls = (message.tool_calls ?? []).map(({ id, ...call }: Json) => {
    const { name, arguments: input, input: text } = call.function ?? call.custom;
    return `call ${id} ${name} ${input ?? text}`;
  });
  const parts = typeof content === 'string' ? [content] : (content ?? []).map(partIn);
  return [
    ...thoughts.filter(Boolean).map((each) => `thought ${each}`),
    ...parts.map((each: string) => `${role} ${each}`),
    ...(message.refusal ? [`${role} refusal ${message.refusal}`] : []),
    ...calls,
  ];
}

function fromMessages({ role, content }: Json): string[] {
  return content.map((block: Json) => {
    const { type, id, name, input } = block;
    if (type === 'tool_use') return `call ${id} ${name} ${JSON.stringify(input)}`;
    if (type === 'tool_result') {
      const said = block.content?.map?.(partIn) ?? block.content ?? '';
      return `result ${block.tool_use_id} ${block.is_error ? 'Error: ' : ''}${said}`;
    }
    if (type.endsWith('thinking')) return `thought ${block.thinking ?? block.data}`;
    return `${role} ${partIn(block)}`;
  });
}

function fromResponses({ type, role, content, ...item }: Json): string[] {
  if (type === 'reasoning')
    return [...item.summary.map(({ text }: Json) => text), item.encrypted_content].map(
      (each) => `thought ${each}`,
    );
  const { call_id, name, arguments: json, input, output } = item;
  if (name) return [`call ${call_id} ${name} ${json ?? input}`];
  if (call_id) return [`result ${call_id} ${output?.map?.(partIn) ?? output}`];
  return content.map((part: Json) => `${role} ${partIn(part)}`);
}

/** A text, or the kind of any other part. */
function partIn(part: Json): string {
  if (part.refusal) return `refusal ${part.refusal}`;
  if (part.text !== undefined) return part.text;
  return /image/.test(part.type) ? 'image' : /audio/.test(part.type) ? 'audio' : 'file';
}
