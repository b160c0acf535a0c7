import type { IncomingMessage } from 'node:http';

/**
 * A refusal may be sent before the whole body has come. The rest is read and dropped for a moment,
 * so that the sender reads the reply and can use the connection again; then the connection is cut.
 */
export function discardRest(req: IncomingMessage, lingerMs: number): void {
  const { socket } = req;
  if (req.complete || socket.destroyed) return;
  // An earlier reader may have left a listener that holds the rest back.
  req.removeAllListeners('readable');
  req.removeAllListeners('data');
  req.resume();
  const timer = setTimeout(() => {
    if (!req.complete) socket.destroy();
  }, lingerMs);
  timer.unref();
}
