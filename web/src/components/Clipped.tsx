import { Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';

/** A long text on one line; clicking shows all of it. */
export function Clipped({ text, dimmed = false }: { text: string; dimmed?: boolean }) {
  const [whole, { toggle }] = useDisclosure(false);
  return (
    <UnstyledButton onClick={toggle} aria-expanded={whole} maw="100%" display="block">
      <Text
        span
        display="block"
        size={dimmed ? 'xs' : 'sm'}
        {...(dimmed && { c: 'dimmed' })}
        truncate={!whole}
        className="wrap"
      >
        {text}
      </Text>
    </UnstyledButton>
  );
}
