import type { Context } from './program.ts';
import { runMcp, type McpOptions } from './mcp.ts';

export async function mcp(_context: Context, options: McpOptions): Promise<void> {
  await runMcp(options);
}
