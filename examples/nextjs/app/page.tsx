'use client';

import { useEffect, useState, type FormEvent } from 'react';

interface RunState {
  status: string;
  progress?: number;
  url?: string;
}

const words: Record<string, string> = {
  IN_QUEUE: 'Waiting for its turn',
  IN_PROGRESS: 'Being made',
  FAILED: 'The image could not be made. You pay nothing.',
  CANCELLED: 'Cancelled. You pay nothing.',
};

export default function Page() {
  const [id, setId] = useState<string>();
  const [told, setTold] = useState<RunState>();
  const [error, setError] = useState<string>();

  useEffect(() => {
    if (!id) return;
    const events = new EventSource(`/api/pictures/${id}`);
    events.addEventListener('message', ({ data }) => {
      const now = JSON.parse(data) as RunState;
      setTold(now);
      // Otherwise the browser would reconnect after the server has ended the stream.
      if (!['IN_QUEUE', 'IN_PROGRESS'].includes(now.status)) events.close();
    });
    return () => events.close();
  }, [id]);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const prompt = new FormData(event.currentTarget).get('prompt');
    setError(undefined);
    setTold(undefined);
    const reply = await fetch('/api/pictures', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
      body: JSON.stringify({ prompt }),
    });
    const body = (await reply.json()) as { id?: string; error?: string };
    setId(body.id);
    setError(body.error);
  }

  return (
    <main>
      <h1>A picture from words</h1>
      <form onSubmit={submit}>
        <label htmlFor="prompt">What is in it</label>
        <textarea id="prompt" name="prompt" required maxLength={1000} style={{ width: '100%' }} />
        <button type="submit">Make it</button>
      </form>
      {error && <p role="alert">{error}</p>}
      <p aria-live="polite">{told && words[told.status]}</p>
      {told?.progress !== undefined && <progress value={told.progress} />}
      {told?.url && <img src={told.url} alt="" style={{ width: '100%' }} />}
    </main>
  );
}
