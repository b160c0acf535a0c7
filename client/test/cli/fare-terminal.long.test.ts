/** `fare` shows images and colours on terminals that support them. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { catalog, homeOf, onTerminal, withoutTerminal, type Home } from './fare-kit.ts';

const skip = withoutTerminal() ?? false;

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService({ catalog });
  account = await service.account({ usd: 50 });
});
beforeEach(() => {
  home = homeOf(service, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

describe('on the screen', { skip }, () => {
  const done = async (more: Record<string, string>) => {
    const call = { key: account.key, body: { prompt: 'x' } };
    const id: string = (await service.call('POST', '/v1/queue/fake/image', call)).body.request_id;
    await service.work();
    const terminal = onTerminal(home, ['download', id, '-o', `${id}.png`], more);
    assert.equal(await terminal.ended, 0, terminal.shown());
    return terminal.shown();
  };
  const base64 = tinyPng.toString('base64');

  test('an image is shown by the protocol of the terminal, if it has one', async () => {
    assert.ok(
      (await done({ TERM_PROGRAM: 'iTerm.app' })).includes(`\u001B]1337;File=inline=1;size=70;`),
    );
    assert.ok(
      (await done({ TERM: 'xterm-kitty' })).includes(
        `\u001B_Ga=T,f=100,r=16,m=0;${base64}\u001B\\`,
      ),
    );
    assert.ok(!(await done({})).includes(base64));
    assert.ok(!(await done({ TERM: 'xterm-kitty', TMUX: '/tmp/x' })).includes(base64));
  });

  test('colours, but for NO_COLOR', async () => {
    assert.ok((await done({})).includes('\u001B[32m✔'));
    assert.ok(!(await done({ NO_COLOR: '1' })).includes('\u001B[32m'));
  });
});
