import type { Conversation, Media, MediaBlock } from '../../core/chat/conversation.ts';
import { InputRefused, sized } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { base64Length, type JsonBody } from '../json-body.ts';
import type { ChatCall, InputFile, UpstreamTools } from '../upstream.ts';

/**
 * As base64 a file is a third longer, and all files together must fit into the server's body limit.
 */
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

  async function handed<B extends { type: string }>(blocks: readonly B[]): Promise<B[]> {
    const all: B[] = [];
    for (const block of blocks) all.push(await handedOver(block));
    return all;
  }

  async function handedOver<B extends { type: string }>(block: B): Promise<B> {
    if ('media' in block) {
      const media = await handOver(block as unknown as MediaBlock);
      return { ...block, media };
    }
    if (block.type !== 'result' || !('blocks' in block)) return block;
    return { ...block, blocks: await handed(block.blocks as MediaBlock[]) };
  }

  const turns: Conversation['turns'] = [];
  for (const turn of conversation.turns)
    turns.push(turn.blocks.some(hasMedia) ? { ...turn, blocks: await handed(turn.blocks) } : turn);
  return { ...conversation, turns };
}

function hasMedia(block: object): boolean {
  if ('media' in block) return true;
  return 'blocks' in block && Array.isArray(block.blocks) && block.blocks.some(hasMedia);
}

function demandType({ content_type: type }: InputFile, of: MediaBlock['type'], at: string): void {
  if (of === 'image' && !type.startsWith('image/'))
    throw new InputRefused(`${at} must be an image, and this file is ${type}.`);
  if (of === 'audio' && !type.startsWith('audio/'))
    throw new InputRefused(`${at} must be audio, and this file is ${type}.`);
}
