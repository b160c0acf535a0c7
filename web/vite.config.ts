import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  // The service puts a fresh one in its place with each page.
  html: { cspNonce: '__NONCE__' },
  build: { target: 'es2023', cssCodeSplit: true, reportCompressedSize: false },
  // A service on its usual port answers what the pages ask for.
  server: { proxy: { '/api': 'http://localhost:8080', '/v1': 'http://localhost:8080' } },
});
