import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import type { KeyChange } from '../../src/core/account/key-settings.ts';
import { before } from './before.ts';
import { createFake, type Fake } from './fake.ts';
import { assertRefused } from './refusal.ts';
import {
  startService,
  type CallOptions,
  type Reply,
  type Service,
  type ServiceOptions,
  type TestAccount,
} from './service.ts';
import { traces } from './traces.ts';

export { before };

interface Options extends ServiceOptions {
  /** The money and the limits of the file's account. */
  account?: { usd?: number } & KeyChange;
}

/** Closes a resource after the service has stopped. */
type Use = <T extends { close(): unknown }>(resource: T) => T;

/** Opens what the service needs, and returns its options. */
type Setup = (use: Use) => Promise<Options>;

interface FileService {
  service: Service;
  /** Made only for a file that takes it or `submit`. */
  account: TestAccount;
  /** The upstream, unless a setup returns another one. */
  fake: Fake;
  /** Submits to `path`, by default of the image model, with the file's account. */
  submit(body: unknown, options?: CallOptions & { path?: string }): Promise<Reply>;
  /** The request of an accepted submit. */
  card(submitted: Reply): Promise<any>;
  /** Asserts that a call is refused and leaves nothing. Returns the error of its body. */
  refused(call: () => Promise<Reply>, code: ErrorCode): Promise<Record<string, any>>;
}

/**
 * The service of a test file. Its members are filled before the first test; after the last one its
 * books are proved and it stops. Hooks of a file run in the order in which they are set: those
 * below this call find a running service at first, and a stopped one in the end.
 */
export function withService(
  given: Options | Setup = {},
  start: (options: ServiceOptions) => Promise<Service> = startService,
): FileService {
  const fake = (typeof given === 'object' && given.fake) || createFake();
  const service = { fake } as Service;
  const account = {} as TestAccount;
  let takesAccount = false;
  const ends = new AsyncDisposableStack();
  const use: Use = (resource) => {
    ends.defer(async () => void (await resource.close()));
    return resource;
  };
  before(async () => {
    const options = typeof given === 'object' ? given : await given(use);
    Object.assign(service, await start({ fake, ...options }));
    ends.defer(() => service.audit().finally(() => service.stop()));
    if (takesAccount) Object.assign(account, await service.account(options.account));
  });
  after(() => ends.disposeAsync());

  const submit: FileService['submit'] = (body, { path = '/v1/queue/fake/image', ...call } = {}) =>
    account.post(path, body, call);
  return {
    service,
    fake,
    get account() {
      takesAccount = true;
      return account;
    },
    get submit() {
      takesAccount = true;
      return submit;
    },
    async card({ status, text, body }) {
      assert.ok(status < 300, text);
      return (await account.get(`/v1/requests/${body.request_id}`)).body;
    },
    async refused(call, code) {
      const earlier = await traces(service);
      const error = assertRefused(await call(), code);
      assert.deepEqual(await traces(service), earlier);
      return error;
    },
  };
}
