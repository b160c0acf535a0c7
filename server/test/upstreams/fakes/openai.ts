import {
  faultSwitch,
  outputAnswer,
  serve,
  type Answer,
  type Biller,
  type Call,
  type FakeUpstream,
} from './kit.ts';
import { openDesk, type ChatDesk } from './openai-chat.ts';
import { errorAnswer, image, openVideos, type Desk, type Service } from './openai-media.ts';
import { routerAnswer } from './openrouter-models.ts';

export type FakeOpenai = FakeUpstream & { chat: ChatDesk };

/**
 * A fake of OpenAI, or of OpenRouter if that is the service: models, chat, images and videos,
 * complete enough for OpenAI's own client. With a biller it makes that biller's outputs.
 */
export async function fakeOpenai(
  service: Service = 'openai',
  biller?: Biller,
): Promise<FakeOpenai> {
  const switched = faultSwitch();
  const chat = openDesk();
  const key = 'sk-fake-0123456789abcdef';
  let held = false;
  const desk: Desk = {
    service,
    biller,
    switched,
    journal: [],
    files: new Map(),
    secret: 'or-fake-secret',
    held: () => held,
    made: 0,
    url: () => `${served.url}/v1`,
  };
  const videos = openVideos(desk);

  const served = await serve(async (call: Call): Promise<Answer> => {
    const path = call.path.replace(/^\/v1/, '');
    // The images of dall-e models need no key.
    if (path.startsWith('/outputs/')) return outputAnswer('png', switched);
    // OpenRouter's lists of models need no key.
    const told = service === 'openrouter' ? routerAnswer(call.method, path) : null;
    if (told) return told;
    if (call.headers.authorization !== `Bearer ${key}`) {
      const said = (call.headers.authorization ?? '').replace('Bearer ', '');
      return errorAnswer(401, `Incorrect API key provided: ${said}.`, { code: 'invalid_api_key' });
    }
    return routed(call, path);
  });

  async function routed(call: Call, path: string): Promise<Answer> {
    if (call.method === 'GET') {
      if (path === '/models') return { json: { object: 'list', data: models } };
      if (path === '/key') return { json: { data: { label: 'fake', limit_remaining: 12.5 } } };
      const found = videos.get(path);
      if (found) return found;
    } else if (call.method === 'POST') {
      if (path === '/chat/completions') return chat.answer(call);
      if (path === '/images/generations' || path === '/images/edits') return image(call, desk);
      if (path === '/videos') return videos.create(call);
    }
    return errorAnswer(404, `Invalid URL (${call.method} ${call.path})`, {
      type: 'invalid_request_error',
    });
  }

  return {
    url: desk.url(),
    key,
    secret: service === 'openrouter' ? desk.secret : null,
    journal: desk.journal,
    calls: served.calls,
    files: desk.files,
    chat,
    play: switched.play,
    mend: switched.mend,
    hold: (hold) => void (held = hold),
    callback: (id, at = new Date()) => videos.callback(id, at),
    close: served.close,
  };
}

const models = ['gpt-fake', 'gpt-image-fake', 'dall-e-fake', 'sora-fake'].map((id) => ({
  id,
  object: 'model',
  created: 1_790_000_000,
  owned_by: 'fake',
  shutdown_date: id === 'dall-e-fake' ? '2026-05-12' : null,
}));
