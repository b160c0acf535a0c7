import type { IncomingMessage } from 'node:http';

/**
 * A refusal may be sent before the whole body has come. The rest is read and dropped for a moment,
 * so that the sender reads the reply and the connection can carry a next call; then it is cut off.
 */
export function discardRest(req: IncomingMessage, lingerMs: number): void {
  const { socket } = req;
  if (req.complete || socket.destroyed) return;
  // A reader that gave up may have left a listener that holds the rest back.
  req.removeAllListeners('readable');
  req.removeAllListeners('data');
  req.resume();
  const timer = setTimeout(() => {
    if (!req.complete) socket.destroy();
  }, lingerMs);
  timer.unref();
}
