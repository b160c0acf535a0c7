/** The MCP server as a process of its own; its options come as JSON. */
import { Farebox } from '../../../client/src/index.ts';
import { runMcp } from '../../../client/src/cli/mcp.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as object;
await runMcp({ client: new Farebox(), version: '0.0.0', ...options });
