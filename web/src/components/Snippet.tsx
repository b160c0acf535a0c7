import { Box, Code, Tabs } from '@mantine/core';
import { Copy } from './Copy.tsx';

interface Props {
  code: string | Record<string, string>;
  what: string;
  /** Shares the chosen language between several snippets. */
  language?: string;
  onLanguage?: (language: string) => void;
}

/** Code to copy, in one or several languages. */
export function Snippet({ code, what, language, onLanguage }: Props) {
  if (typeof code === 'string') return <Block text={code} what={what} />;
  const names = Object.keys(code);
  const choice = language !== undefined && {
    value: names.includes(language) ? language : names[0],
  };
  return (
    <Tabs
      defaultValue={names[0]!}
      keepMounted={false}
      {...choice}
      onChange={(name) => name !== null && onLanguage?.(name)}
    >
      <Tabs.List mb="xs" aria-label={what}>
        {names.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {names.map((name) => (
        <Tabs.Panel key={name} value={name}>
          <Block text={code[name]!} what={`${what}, ${name}`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

function Block({ text, what }: { text: string; what: string }) {
  return (
    <Box pos="relative">
      <Code
        block
        tabIndex={0}
        role="region"
        aria-label={what}
        pr={48}
        fz={13}
        style={{ overflowX: 'auto' }}
      >
        {text}
      </Code>
      <Box
        pos="absolute"
        top={6}
        right={6}
        bg="var(--mantine-color-body)"
        style={{ borderRadius: 8 }}
      >
        <Copy text={text} what={what} />
      </Box>
    </Box>
  );
}
