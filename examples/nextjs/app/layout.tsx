import type { ReactNode } from 'react';

export const metadata = { title: 'Pictures' };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body
        style={{
          maxWidth: '40rem',
          margin: '2rem auto',
          padding: '0 1rem',
          font: '1rem system-ui',
        }}
      >
        {children}
      </body>
    </html>
  );
}
