import type { Rig } from '../conformance.ts';
import { fakeOpenai } from '../fakes/openai.ts';
import { films } from '../films.ts';

const { catalog, cannot, ...rest } = films('openai-videos', {
  model: 'sora-fake',
  seconds: 'seconds',
});

/**
 * Videos in OpenAI's form: the start sends a form and gets a job; the content is fetched with the
 * key.
 */
export const rig: Rig = {
  name: 'openai-videos',
  adapter: 'openai',
  class: 'C',
  callsBack: false,
  open: () => fakeOpenai(),
  catalog: `
upstream:
  name: openai-videos
  adapter: openai
  url: URL
  key_from: FAKE_KEY
models:${catalog}
`,
  ...rest,
  cannot: { ...cannot, 'output-several': 'a job has one content' },
  // Its content is empty, which may mean that it is not there yet.
  expected: { 'finish-empty': { ends: 'output_unusable at last' } },
};
