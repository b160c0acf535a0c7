import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { formatUsd } from '../../index.ts';
import { addAccountTools } from './account.ts';
import type { Desk } from './calls.ts';
import { addChat } from './chat.ts';
import { addGenerate } from './generate.ts';
import { addModelTools } from './models.ts';
import { addOutputs, addRequestTools } from './requests.ts';

/** A server for one connection of an agent's program. All connections share one budget. */
export function createServer(given: Omit<Desk, 'server' | 'made'>, version: string): McpServer {
  const server = new McpServer(
    { name: 'farebox', title: 'Farebox', version },
    { capabilities: { logging: {} }, instructions: instructionsOf(given.budget.limit) },
  );
  const desk: Desk = { ...given, server, made: [] };
  addModelTools(desk);
  addGenerate(desk);
  addChat(desk);
  addRequestTools(desk);
  addAccountTools(desk);
  addOutputs(desk);
  return server;
}

function instructionsOf(limit: bigint): string {
  return [
    'Farebox makes images, video and text with paid models.',
    'Find a model with list_models, read its input with get_model, ask get_price, tell the user',
    'the price, then call generate with that price as max_usd.',
    `All calls together may spend ${formatUsd(limit)}; only the user can change that.`,
    'Upload local files with upload_file, and put their file_id into the input.',
    'A generation that takes longer than wait_seconds goes on: wait with get_request, never submit twice.',
  ].join(' ');
}
