import { completionsReader } from '../../core/apis/completions/read-reply.ts';
import { writeCompletionsCall } from '../../core/apis/completions/write-call.ts';
import { responsesReader } from '../../core/apis/responses/read-reply.ts';
import { writeResponsesCall } from '../../core/apis/responses/write-call.ts';
import { cacheMark } from '../../core/chat/optional-fields.ts';
import type { ChatForm } from './chat.ts';
import type { Options } from './options.ts';

/** The API of a server's chat, with what its models take. */
export function chatForm(options: Options): ChatForm {
  const { api, token_limit, include_usage, developer_role: developer, tool_name_max } = options;
  const passes = new Set(options.pass);
  const message_fields = new Set(options.message_fields);
  const manners = { passes, message_fields, developer, tool_name_max };
  if (api === 'responses')
    return {
      path: '/responses',
      readsText: false,
      write: (conversation, calling) =>
        writeResponsesCall(conversation, calling, { ...manners, marks: false }),
      open: responsesReader,
    };
  return {
    path: '/chat/completions',
    readsText: false,
    write(conversation, calling, refused) {
      const marks = calling.marks && passes.has(cacheMark);
      const known = options.message_fields.filter((field) => !refused?.has(field));
      const own = { ...manners, message_fields: new Set(known), marks, token_limit, include_usage };
      return writeCompletionsCall(conversation, calling, own);
    },
    open: completionsReader,
  };
}
