import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { until } from './until.ts';

/** A mail server that stores the e-mails that it receives. */
export interface Post {
  url: string;
  letters: { to: string; subject: string; text: string; links: string[] }[];
  /** The newest e-mail to this address; waits until it has arrived. */
  letterTo(email: string): Promise<Post['letters'][number]>;
  /** The number of connections so far. */
  greeted(): number;
  close(): Promise<void>;
}

export async function openPost(): Promise<Post> {
  const letters: Post['letters'] = [];
  let greeted = 0;
  const server = new SMTPServer({
    onConnect(_session, done) {
      greeted++;
      done();
    },
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, { envelope }, done) {
      let raw = '';
      stream.on('data', (chunk: Buffer) => (raw += chunk.toString('utf8')));
      stream.on('end', () => {
        letters.push({ to: envelope.rcptTo.map(({ address }) => address).join(','), ...read(raw) });
        done();
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const find = (email: string) => letters.findLast(({ to }) => to === email);
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters,
    async letterTo(email) {
      return until(`a letter to ${email}`, () => find(email));
    },
    greeted: () => greeted,
    close: () => new Promise((done) => server.close(() => done())),
  };
}

function read(raw: string) {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const subject = /^Subject: (.*(?:\r\n[ \t].*)*)/m.exec(head)?.[1] ?? '';
  const body = rest.join('\r\n\r\n').replaceAll('\r\n', '\n');
  const isQuoted = /quoted-printable/i.test(head);
  const text = isQuoted ? unquote(body) : body;
  return {
    subject: subject.replace(/\r\n/g, ''),
    text,
    links: text.match(/https?:\/\/\S+/g) ?? [],
  };
}

function unquote(text: string): string {
  const bytes = text.replace(/=\n/g, '').replace(/=([0-9A-F]{2})/g, '%$1');
  return decodeURIComponent(bytes.replace(/%(?![0-9A-F]{2})/g, '%25'));
}
