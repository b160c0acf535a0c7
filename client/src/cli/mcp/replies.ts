import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import { FareboxError } from '../../index.ts';
import { fromJson } from '../../unknown.ts';
import { asWritten } from '../../writable.ts';
import { topUpText } from '../failure.ts';

/** An error of this server, in the same shape as those of the service. */
export class ToolError extends Error {
  readonly code: string;
  readonly details: Record<string, unknown>;

  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The result of a tool: fields for programs, the same fields as text, and media. */
export interface Answer {
  fields: Record<string, unknown>;
  blocks?: ContentBlock[];
}

/** Runs a tool. Every failure reaches the agent as an error with a code and the next step. */
export async function answer(work: () => Promise<Answer>): Promise<CallToolResult> {
  try {
    const { fields, blocks = [] } = await work();
    const structuredContent = asWire(fields);
    const text = JSON.stringify(structuredContent);
    return { structuredContent, content: [{ type: 'text', text }, ...blocks] };
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: JSON.stringify(refusal(error)) }] };
  }
}

function refusal(error: unknown): Record<string, unknown> {
  if (error instanceof ToolError) {
    const { code, message, details } = error;
    return asWire({ error: { code, message, details } });
  }
  if (error instanceof FareboxError) {
    const { code, param, requestId: request_id, details } = error;
    const ways = (details.top_up ?? []).map((to) => ` The user can send ${topUpText(to)}.`);
    const message = error.message + ways.join('');
    const wait = error.retryAfterSeconds;
    const retry = wait === undefined ? {} : { retry_after_seconds: wait };
    return asWire({ error: { code, message, param, request_id, details, ...retry } });
  }
  const message = error instanceof Error ? error.message : String(error);
  return { error: { code: 'internal_error', message } };
}

/** Converts amounts to strings, as on the wire, because JSON has no bigint. */
export function asWire(fields: Record<string, unknown>): Record<string, unknown> {
  return fromJson(JSON.stringify(fields, asWritten));
}
