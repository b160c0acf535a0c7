import { Box, Code, Group, Tabs } from '@mantine/core';
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
    <Group
      gap={4}
      wrap="nowrap"
      align="flex-start"
      pr={6}
      bg="var(--n3)"
      style={{ borderRadius: 'var(--mantine-radius-sm)' }}
    >
      <Code
        block
        tabIndex={0}
        role="region"
        aria-label={what}
        flex={1}
        bg="none"
        fz={13}
        style={{ overflowX: 'auto' }}
      >
        {text}
      </Code>
      <Box pt={6}>
        <Copy text={text} what={what} />
      </Box>
    </Group>
  );
}
