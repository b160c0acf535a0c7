import { builtinModules } from 'node:module';

/**
 * Three builds of one package: the library as an ES module and as CommonJS, which load nothing but
 * what a caller installed, and the command, which brings all that it needs.
 */
const entries = { index: 'src/index.ts', ai: 'src/ai.ts' };
const builtin = [/^node:/, ...builtinModules];

export default ({ mode }: { mode: string }) =>
  mode === 'cli' ? command() : library(mode === 'cjs' ? 'cjs' : 'es');

function library(format: 'es' | 'cjs') {
  const extension = format === 'es' ? 'js' : 'cjs';
  return {
    build: {
      target: 'es2022',
      // Callers read their stacks, and their own bundler makes it small.
      minify: false,
      emptyOutDir: false,
      reportCompressedSize: false,
      lib: { entry: entries, formats: [format] },
      rolldownOptions: {
        external: [...builtin, /^@ai-sdk\//],
        output: {
          // The types carry the docstrings for editors.
          comments: { jsdoc: false },
          entryFileNames: `[name].${extension}`,
          chunkFileNames: `library-[hash].${extension}`,
        },
      },
    },
  };
}

function command() {
  return {
    ssr: { noExternal: true },
    build: {
      target: 'node20',
      emptyOutDir: false,
      ssr: true,
      minify: true,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        input: 'src/cli/main.ts',
        external: builtin,
        output: { entryFileNames: 'cli/[name].js', chunkFileNames: 'cli/[name]-[hash].js' },
      },
    },
  };
}
