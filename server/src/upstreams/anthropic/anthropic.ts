import { messagesReader } from '../../core/apis/messages/read-reply.ts';
import { writeMessagesCall, type MessagesDialect } from '../../core/apis/messages/write-call.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { createChat, type ChatForm, type ChatOptions } from '../openai/chat.ts';
import { checkKey, listModels } from '../openai/listing.ts';
import { readOptions, type OpenaiOptions as ServerOptions } from '../openai/options.ts';
import { bearer, createWire } from '../openai/wire.ts';
import type { Upstream, UpstreamTools } from '../upstream.ts';

/** How services that offer Anthropic's Messages API differ; from the definition's `options`. */
interface Options
  extends
    Pick<MessagesDialect, 'thinking' | 'sampling' | 'tool_name_max'>,
    ChatOptions,
    Pick<ServerOptions, 'base_path' | 'check_path'> {
  /** The header with our key. */
  auth: 'x-api-key' | 'bearer';
}

const usual: Options = {
  base_path: '/v1',
  auth: 'x-api-key',
  thinking: 'adaptive',
  sampling: true,
  tool_name_max: 128,
  inline_images: false,
  first_byte_seconds: 3600,
  idle_seconds: 300,
  check_path: '/models',
};
const words = { auth: ['x-api-key', 'bearer'], thinking: ['summarized', 'adaptive', 'budget'] };

/** The version of the API that our translation is written for. */
const version = { 'anthropic-version': '2023-06-01' };

/** Anthropic and services with the same API: chat alone. Throws if `options` are invalid. */
export function createAnthropic(settings: UpstreamSettings, tools: UpstreamTools): Upstream {
  const { name, concurrency } = settings;
  const options = readOptions(settings.options, usual, words);
  const { auth, base_path, check_path } = options;
  const wire = createWire(settings, tools, base_path, (key) => ({
    ...version,
    ...(auth === 'bearer' ? bearer(key) : key !== null && { 'x-api-key': key }),
  }));
  return {
    name,
    class: 'C',
    concurrency,
    async start({ task }) {
      const message = `it has no call for the task ${task}`;
      return { outcome: 'not_accepted', why: 'model', message };
    },
    poll: () => Promise.reject(new Error('it has no jobs')),
    chat: createChat(wire, messagesForm(options), options, tools),
    check: (signal) => checkKey(wire, check_path, signal),
    models: (signal) => listModels(wire, '/models?limit=1000', signal),
  };
}

function messagesForm({ thinking, sampling, tool_name_max }: Options): ChatForm {
  const message_fields = new Set<string>();
  const dialect = { thinking, sampling, tool_name_max, message_fields, cacheControl: true };
  const [path, readsText] = ['/messages', true];
  return { path, readsText, dialect, write: writeMessagesCall, open: messagesReader };
}
