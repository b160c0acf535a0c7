import { z } from 'zod';
import { formatUsd } from '../../index.ts';
import { waitFor, type Desk } from './calls.ts';
import { cancelled, describeRequest, requestSchema, waitSchema } from './generate.ts';
import { outputTemplate, readOutput } from './outputs.ts';
import { answer, ToolError } from './replies.ts';
import { ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';

const idSchema = z.string().min(1).describe('The request_id from generate or list_requests.');

export function addRequestTools(desk: Desk): void {
  addGetRequest(desk);
  addCancelRequest(desk);
  addListRequests(desk);
}

function addGetRequest(desk: Desk): void {
  desk.server.registerTool(
    'get_request',
    {
      title: 'Get a request',
      description:
        'The status of a request, and its outputs once it is completed. With wait_seconds it waits ' +
        'for the end. Works for every request of the account, also after a restart.',
      inputSchema: {
        request_id: idSchema,
        wait_seconds: waitSchema.default(0).describe('0: return at once.'),
      },
      outputSchema: requestSchema,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ request_id, wait_seconds }, call) =>
      answer(async () =>
        describeRequest(desk, await waitFor(desk, request_id, wait_seconds, call)),
      ),
  );
}

function addCancelRequest(desk: Desk): void {
  desk.server.registerTool(
    'cancel_request',
    {
      title: 'Cancel a request',
      description:
        'Removes a request from the queue; nothing is charged. A running request goes on.',
      inputSchema: { request_id: idSchema },
      outputSchema: requestSchema,
      annotations: {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: false,
      },
    },
    ({ request_id }, { signal }) =>
      answer(async () => {
        const undone = await cancelled(desk, request_id);
        const status = await desk.client.status(request_id, { signal });
        if (undone || status.status === 'CANCELLED') return describeRequest(desk, status);
        throw new ToolError(
          'not_cancellable',
          `The request is ${status.status}: only an IN_QUEUE request can be cancelled. See get_request.`,
          { request_id, status: status.status },
        );
      }),
  );
}

const lineSchema = z.object({
  request_id: z.string(),
  model_id: z.string(),
  kind: z.string(),
  status: z.string(),
  quoted_usd: z.string(),
  charged_usd: z.string().nullable(),
  error_code: z.string().nullable(),
  created_at: z.string(),
});

function addListRequests({ server, client }: Desk): void {
  server.registerTool(
    'list_requests',
    {
      title: 'List requests',
      description: "The account's requests, newest first, with their charges.",
      inputSchema: {
        status: requestSchema.shape.status.optional(),
        model_id: z.string().optional(),
        limit: z.int().min(1).max(100).default(20),
        cursor: z.string().optional().describe('The next_cursor of the previous page.'),
      },
      outputSchema: { requests: z.array(lineSchema), next_cursor: z.string().nullable() },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    (filter, { signal }) =>
      answer(async () => {
        const { data, next_cursor } = await client.requests.list(filter, { signal });
        const requests = data.map((line) => ({
          request_id: line.request_id,
          model_id: line.model_id,
          kind: line.kind,
          status: line.status,
          quoted_usd: formatUsd(line.quoted_usd_micro),
          charged_usd: line.charged_usd_micro === null ? null : formatUsd(line.charged_usd_micro),
          error_code: line.error_code,
          created_at: line.created_at,
        }));
        return { fields: { requests, next_cursor } };
      }),
  );
}

/** Offers outputs as resources: lists this session's, and reads any output of the account. */
export function addOutputs(desk: Desk): void {
  const list = () => ({ resources: [...desk.made].reverse() });
  desk.server.registerResource(
    'output',
    new ResourceTemplate(outputTemplate, { list }),
    { title: 'An output', description: 'An image, a video or audio that a model made.' },
    (uri, { request_id, index }) => readOutput(desk, uri, String(request_id), String(index)),
  );
}
