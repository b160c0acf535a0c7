import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  type CallToolResult,
  type ContentBlock,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import {
  startService,
  type Service,
  type TestAccount,
} from '../../../../server/test/kit/service.ts';
import { compileCache, program } from '../fare-kit.ts';

export interface LogMessage {
  level: string;
  data: unknown;
}

/** An agent's program: the official client, with the messages that it gets besides replies. */
export interface Agent {
  client: Client;
  told: LogMessage[];
  /** The questions to the person, in order. */
  asked: string[];
  /** Errors about lines that do not belong to the protocol. */
  strayed: Error[];
  /** Sets the person's answer to later questions. */
  answers(action: ElicitResult['action']): void;
  /** The server's text for people. */
  stderr(): string;
  /** Calls a tool. Throws if the tool refuses. */
  use(name: string, args?: Record<string, unknown>, options?: UseOptions): Promise<ToolResult>;
  /** Calls a tool that has to refuse, and returns the refusal. */
  refused(name: string, args?: Record<string, unknown>): Promise<Refusal>;
  close(): Promise<void>;
}

export interface UseOptions {
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number; message?: string }) => void;
}

export interface ToolResult {
  fields: any;
  blocks: ContentBlock[];
}

export interface Refusal {
  code: string;
  message: string;
  request_id?: string | null;
  details?: any;
}

export interface AgentOptions {
  /** The person's answer to a question; without it the program cannot ask. */
  answer?: ElicitResult['action'];
  /** Folders that the program says it works in. */
  roots?: string[];
  key?: string;
}

/** The client's side, not connected yet. */
export function createAgent({ answer, roots }: AgentOptions = {}): Agent {
  const told: LogMessage[] = [];
  const asked: string[] = [];
  const strayed: Error[] = [];
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: { ...(answer && { elicitation: {} }), ...(roots && { roots: {} }) } },
  );
  Object.assign(client, { onerror: (error: Error) => strayed.push(error) });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    told.push({ level: params.level, data: params.data });
  });
  if (answer) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: answer!, ...(answer === 'accept' && { content: {} }) };
    });
  }
  if (roots) {
    client.setRequestHandler(ListRootsRequestSchema, () => ({
      roots: roots.map((root) => ({ uri: `file://${root}` })),
    }));
  }
  async function call(name: string, args: Record<string, unknown> = {}, options: UseOptions = {}) {
    const params = { name, arguments: args };
    return (await client.callTool(params, undefined, options)) as CallToolResult;
  }
  return {
    client,
    told,
    asked,
    strayed,
    answers: (action) => (answer = action),
    stderr: () => '',
    async use(name, args, options) {
      const { content, structuredContent, isError } = await call(name, args, options);
      assert.ok(!isError, JSON.stringify(content));
      const [text, ...blocks] = content;
      assert.ok(text?.type === 'text');
      // Programs without support for structured content read the same values as text.
      assert.deepEqual(JSON.parse(text.text), structuredContent);
      return { fields: structuredContent, blocks };
    },
    async refused(name, args) {
      const { content, isError } = await call(name, args);
      assert.equal(isError, true, JSON.stringify(content));
      const [text] = content;
      assert.ok(text?.type === 'text');
      return JSON.parse(text.text).error;
    },
    close: () => client.close(),
  };
}

/** The command and the environment that start the server. */
export function commandOf(service: Service, key: string, flags: string[]) {
  return {
    command: process.execPath,
    args: [program, 'mcp', ...flags],
    env: {
      FAREBOX_API_KEY: key,
      FAREBOX_BASE_URL: `${service.base}/v1`,
      // Settings that are saved on this computer must not count.
      XDG_CONFIG_HOME: service.dir,
      NODE_COMPILE_CACHE: compileCache,
    },
  };
}

/** An agent's program that starts its own server, as most do. */
export async function startAgent(
  service: Service,
  account: TestAccount,
  flags: string[] = [],
  options: AgentOptions = {},
): Promise<Agent> {
  const agent = createAgent(options);
  const command = commandOf(service, options.key ?? account.key, flags);
  const transport = new StdioClientTransport({ ...command, stderr: 'pipe' });
  let stderr = '';
  transport.stderr!.on('data', (chunk) => (stderr += String(chunk)));
  await agent.client.connect(transport);
  return { ...agent, stderr: () => stderr };
}

/** A service that runs no job until a test says so, and agents with an account of their own. */
export interface Scene {
  service: Service;
  account: TestAccount;
  withAgent(
    flags: string[],
    work: (agent: Agent) => Promise<void>,
    person?: AgentOptions,
  ): Promise<void>;
  /** The requests of this account, newest first. */
  submits(): Promise<{ request_id: string; status: string }[]>;
  stop(): Promise<void>;
}

export async function openScene(): Promise<Scene> {
  const service = await startService();
  const scene: Scene = {
    service,
    account: await service.account(),
    async withAgent(flags, work, person) {
      scene.account = await service.account();
      const agent = await startAgent(service, scene.account, flags, person);
      try {
        await work(agent);
        assert.deepEqual(agent.strayed, []);
      } finally {
        await agent.close();
      }
    },
    async submits() {
      const { key } = scene.account;
      return (await service.call('GET', '/v1/requests?limit=100', { key })).body.data;
    },
    async stop() {
      await service.audit();
      await service.stop();
    },
  };
  return scene;
}
