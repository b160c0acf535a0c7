import { mediaBlocks } from '../../core/chat/chat-media.ts';
import type {
  Block,
  Conversation,
  Media,
  MediaBlock,
  ResultBlock,
} from '../../core/chat/conversation.ts';
import { InputRefused, sized } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { base64Length, type JsonBody } from '../json-body.ts';
import type { ChatCall, InputFile, UpstreamTools } from '../upstream.ts';

/** As base64 a file is a third longer, and all together must fit the server's body limit. */
const fileMaxBytes = 20 * 1024 * 1024;
const filesMaxBytes = 60 * 1024 * 1024;

export interface Place {
  /** Download addresses, and send their contents. */
  inline: boolean;
  /** The server takes text files as text. */
  readsText: boolean;
  /** Stands for the data of the files, which are sent with it. */
  body: JsonBody;
}

/**
 * The conversation with its media as an upstream gets them. Stored files are sent as data, because
 * chat upstreams cannot read our files. With `inline`, addresses are downloaded and sent as data
 * too: otherwise a caller could make an upstream in our own network fetch internal addresses.
 * Throws `InputRefused`.
 */
export async function withMedia(
  call: Pick<ChatCall, 'conversation' | 'files' | 'hold' | 'inShare' | 'signal'>,
  { inline, readsText, body }: Place,
  tools: Pick<UpstreamTools, 'download'>,
): Promise<Conversation> {
  const { conversation, files = {}, ...shares } = call;
  let left = filesMaxBytes;
  const isText = (type: string | null) => readsText && type?.startsWith('text/') === true;

  /** Media in the call itself, and addresses that the upstream fetches. */
  function ownMedia(media: Media): Media {
    const { from, type, value } = media;
    if (from !== 'base64') return media;
    if (!isText(type)) return { ...media, value: body.text(value) };
    return { ...media, from: 'text', value: Buffer.from(value, 'base64').toString('utf8') };
  }

  async function fileMedia(media: Media, of: MediaBlock['type']): Promise<Media> {
    const { value, at } = media;
    const stored = Object.hasOwn(files, value) ? files[value]! : null;
    if (stored !== null) demandType(stored, of, at);
    const file = await openMedia(value, at, { ...shares, files, takes: null }, tools);
    const read = await sized(file, at, Math.min(left, fileMaxBytes));
    left -= base64Length(read.size);
    const type = file.content_type;
    // Most servers accept a file only if it has a name.
    const own = { ...media, type, name: media.name ?? file.file_name ?? 'file' };
    return isText(type)
      ? { ...own, from: 'text', value: await body.textOf(read) }
      : { ...own, from: 'base64', value: body.base64(read) };
  }

  async function handOver({ media, type }: MediaBlock): Promise<Media> {
    const isStored = Object.hasOwn(files, media.value);
    if (media.from === 'base64' || (media.from === 'url' && !inline && !isStored))
      return ownMedia(media);
    return fileMedia(media, type).catch((error: unknown) => {
      if (error instanceof InputRefused) error.param = media.at;
      throw error;
    });
  }

  async function handed(blocks: readonly Block[]): Promise<Block[]> {
    const all: Block[] = [];
    for (const block of blocks) {
      if ('media' in block) all.push({ ...block, media: await handOver(block) });
      else if (block.type !== 'result') all.push(block);
      else all.push({ ...block, blocks: (await handed(block.blocks)) as ResultBlock['blocks'] });
    }
    return all;
  }

  const turns: Conversation['turns'] = [];
  for (const turn of conversation.turns) {
    const hasMedia = mediaBlocks({ turns: [turn] }).length > 0;
    turns.push(hasMedia ? { ...turn, blocks: await handed(turn.blocks) } : turn);
  }
  return { ...conversation, turns };
}

function demandType({ content_type: type }: InputFile, of: MediaBlock['type'], at: string): void {
  if (of === 'file' || type.startsWith(`${of}/`)) return;
  const wanted = of === 'image' ? 'an image' : 'audio';
  throw new InputRefused(`${at} must be ${wanted}, and this file is ${type}.`);
}
