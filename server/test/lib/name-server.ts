/** A DNS server on 127.0.0.1, over UDP and TCP, whose answers a test sets. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

import ipaddr from 'ipaddr.js';

export interface Answer {
  a?: string[];
  aaaa?: string[];
  /** The canonical name, which has the addresses; the asked name is an alias. */
  cname?: string;
  /** 0 NOERROR, 2 SERVFAIL, 3 NXDOMAIN; with `failing`, for one family only. */
  code?: number;
  failing?: 'a' | 'aaaa';
}

export interface NameServer {
  /** The server's address in a resolver's form: `address:port`. */
  address: string;
  /** The names asked for, one per question. */
  asked: string[];
  close(): Promise<void>;
}

/** Starts the server. `answer` is called for each question; null sends no answer. */
export async function serveNames(
  answer: (name: string, type: 'a' | 'aaaa') => Answer | null,
): Promise<NameServer> {
  const asked: string[] = [];
  const reply = (query: Buffer, limit: number): Buffer | null => {
    const { name, end, type } = readQuestion(query);
    asked.push(name);
    const found = answer(name, type);
    return found === null ? null : writeReply(query, end, type, found, limit);
  };
  const tcp = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const message = reply(data.subarray(2), 65_535);
      if (message === null) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.end(Buffer.concat([length, message]));
    });
  });
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as { port: number };
  const udp = createSocket('udp4', (query, from) => {
    const message = reply(query, 512);
    if (message !== null) udp.send(message, from.port, from.address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  const close = async (): Promise<void> => {
    udp.close();
    tcp.close();
    await once(tcp, 'close');
  };
  return { address: `127.0.0.1:${port}`, asked, close };
}

function readQuestion(query: Buffer): { name: string; end: number; type: 'a' | 'aaaa' } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  const type = query.readUInt16BE(at + 1) === 28 ? 'aaaa' : 'a';
  return { name: labels.join('.').toLowerCase(), end: at + 5, type };
}

function writeReply(
  query: Buffer,
  end: number,
  type: 'a' | 'aaaa',
  answer: Answer,
  limit: number,
): Buffer {
  const fails = answer.code !== undefined && (answer.failing ?? type) === type;
  const records: Buffer[] = [];
  const owner = answer.cname === undefined ? Buffer.from([0xc0, 12]) : writeName(answer.cname);
  if (!fails && answer.cname !== undefined) {
    records.push(writeRecord(Buffer.from([0xc0, 12]), 5, writeName(answer.cname)));
  }
  for (const ip of fails ? [] : (answer[type] ?? [])) {
    records.push(
      writeRecord(owner, type === 'a' ? 1 : 28, Buffer.from(ipaddr.parse(ip).toByteArray())),
    );
  }
  const question = query.subarray(12, end);
  const whole = 12 + question.length + records.reduce((sum, record) => sum + record.length, 0);
  const cut = whole > limit;
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8580 | (cut ? 0x0200 : 0) | (fails ? (answer.code ?? 0) : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(cut ? 0 : records.length, 6);
  return Buffer.concat([head, question, ...(cut ? [] : records)]);
}

/** The bytes of a record, with a time to live of 0 s, so that nothing is cached. */
function writeRecord(owner: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}
