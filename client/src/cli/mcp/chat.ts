import { z } from 'zod';
import {
  formatUsd,
  type ChatMessage,
  type ChatUsage,
  type Estimate,
  type Farebox,
} from '../../index.ts';
import type { Hold } from './budget.ts';
import { openProgress, type Call, type Desk } from './calls.ts';
import { modelIdSchema } from './models.ts';
import { answer, type Answer } from './replies.ts';
import { afterSubmit, agree, maxUsdText } from './spending.ts';

/** The most tokens that the service adds for a call and for each message, whatever their text. */
const callTokens = 128;
const messageTokens = 16;

export function addChat(desk: Desk): void {
  desk.server.registerTool(
    'chat',
    {
      title: 'Ask a text model',
      description:
        'Sends a conversation to a text model and returns its reply. It SPENDS the money of the ' +
        'user; without max_usd it returns the most that it may cost and sends nothing.',
      inputSchema: {
        model_id: modelIdSchema,
        messages: z
          .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
          .min(1)
          .describe('Oldest first.'),
        max_tokens: z
          .int()
          .min(1)
          .default(1024)
          .describe('The longest reply to pay for, in tokens.'),
        max_usd: z.number().min(0).optional().describe(maxUsdText),
      },
      outputSchema: {
        request_id: z.string(),
        model_id: z.string(),
        text: z.string(),
        finish_reason: z.string().nullable(),
        charged_usd: z.string(),
        charged_usd_micro: z.string(),
        prompt_tokens: z.number(),
        completion_tokens: z.number(),
        session: z.looseObject({}),
      },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    (wish, call) => answer(() => chat(desk, wish, call)),
  );
}

interface Wish {
  model_id: string;
  messages: ChatMessage[];
  max_tokens: number;
  max_usd?: number | undefined;
}

async function chat(desk: Desk, wish: Wish, call: Call): Promise<Answer> {
  const most = await mostItCosts(desk.client, wish, call.signal);
  const hold = await agree(desk, most, wish.max_usd, call);
  try {
    return await talk(desk, wish, call, hold);
  } catch (error) {
    if (hold.requestId === null) throw afterSubmit(desk, hold, error);
    await desk.budget.settleEnded(desk.client);
    throw error;
  }
}

/**
 * The price of the largest possible number of tokens: a token has at least one byte. The service
 * reserves no more.
 */
async function mostItCosts(client: Farebox, wish: Wish, signal: AbortSignal): Promise<Estimate> {
  const bytes = wish.messages.reduce(
    (sum, { content }) => sum + Buffer.byteLength(`${content}`),
    0,
  );
  const input_tokens = callTokens + wish.messages.length * messageTokens + bytes;
  const input = { input_tokens, output_tokens: wish.max_tokens };
  return client.estimate(wish.model_id, input, { signal });
}

async function talk(desk: Desk, wish: Wish, call: Call, hold: Hold): Promise<Answer> {
  const { model_id, messages, max_tokens } = wish;
  // Streamed, so that the agent's program sees the reply live, and a cancelled call ends at once.
  const stream = await desk.client.chat.create(
    { model: model_id, messages, max_tokens, stream: true },
    { signal: call.signal },
  );
  const { tell, end } = openProgress(call);
  let text = '';
  let finish_reason: string | null = null;
  let usage: ChatUsage = {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    cost_usd_micro: 0n,
  };
  try {
    for await (const chunk of stream) {
      hold.requestId ??= chunk.id.replace(/^chatcmpl-/, '');
      const [choice] = chunk.choices;
      text += choice?.delta.content ?? '';
      finish_reason = choice?.finish_reason ?? finish_reason;
      if (chunk.usage) usage = chunk.usage;
      tell(`${text.length} characters so far`);
    }
  } finally {
    end();
  }
  desk.budget.settle(hold, usage.cost_usd_micro);
  return {
    fields: {
      request_id: hold.requestId,
      model_id,
      text,
      finish_reason,
      charged_usd: formatUsd(usage.cost_usd_micro),
      charged_usd_micro: usage.cost_usd_micro,
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      session: desk.budget.view(),
    },
  };
}
