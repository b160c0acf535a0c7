import type { Rig } from '../conformance.ts';
import { fakeOpenai } from '../fakes/openai.ts';
import { films } from '../films.ts';

const { catalog, ...rest } = films('openrouter-videos', { model: 'veo-fake', seconds: 'duration' });

/** Videos in OpenRouter's form: it names the address to poll, reports its cost and calls back. */
export const rig: Rig = {
  name: 'openrouter-videos',
  adapter: 'openai',
  class: 'C',
  callsBack: true,
  open: () => fakeOpenai('openrouter'),
  catalog: `
upstream:
  name: openrouter-videos
  adapter: openai
  url: URL
  key_from: FAKE_KEY
  secret_from: FAKE_SECRET
  options: { videos: openrouter, check_path: /key }
models:${catalog}
`,
  ...rest,
};
