// Runs in a page. Defines `seen`: what somebody who looks at the page would complain about.
globalThis.seen = (() => {
  /** A word that is broken although it is shorter than this stands in too narrow a column. */
  const wordMax = 24;
  /** A shortened text has to keep this much, or nobody can tell it from its neighbours. */
  const shortenedMin = 72;
  const controls =
    'a[href], button, input, select, textarea, [role=button], [role=tab], [role=switch]';
  /** Breaks and overlaps where they like: code, ids, and what only screen readers get. */
  const code = 'code, pre, kbd, samp, [translate=no], .recharts-wrapper, svg';

  const floating = '[role=menu], [role=listbox], [role=dialog], [data-position]';

  const clips = (style) => /hidden|clip/.test(style.overflowX);
  const scrolls = (style) => /auto|scroll/.test(style.overflowX);

  /** On a phone `innerWidth` grows with the page. */
  const windowWidth = () => document.documentElement.clientWidth;

  function* boxesAround(node) {
    for (let box = node.parentElement; box; box = box.parentElement)
      yield [box, getComputedStyle(box)];
  }

  /** The floating part of the page that has the element: only parts of one layer are compared. */
  function layerOf(element) {
    for (let box = element; box; box = box.parentElement)
      if (/fixed|sticky/.test(getComputedStyle(box).position) || box.matches(floating)) return box;
    return document.body;
  }

  function isHidden(rect) {
    return rect.width <= 1 || rect.height <= 1;
  }

  function isOnlyHeard(node) {
    for (const [box, style] of boxesAround(node))
      if (isHidden(box.getBoundingClientRect()) || /inset\(50%\)/.test(style.clipPath)) return true;
    return false;
  }

  /** The part of the page in which the node can be seen: scrolled boxes hide the rest of it. */
  function windowOf(node) {
    const seen = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    for (const [box, style] of boxesAround(node)) {
      const edge = box.getBoundingClientRect();
      if (style.overflowX !== 'visible')
        [seen.left, seen.right] = [
          Math.max(seen.left, edge.left),
          Math.min(seen.right, edge.right),
        ];
      if (style.overflowY !== 'visible')
        [seen.top, seen.bottom] = [
          Math.max(seen.top, edge.top),
          Math.min(seen.bottom, edge.bottom),
        ];
    }
    return seen;
  }

  function within(rect, seen) {
    return {
      left: Math.max(seen.left, rect.left),
      right: Math.min(seen.right, rect.right),
      top: Math.max(seen.top, rect.top),
      bottom: Math.min(seen.bottom, rect.bottom),
    };
  }

  /** Texts that can be seen, each with its lines and the part of the page that it may fill. */
  function texts() {
    const found = [];
    const range = document.createRange();
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = nodes.nextNode());) {
      const shown = { opacityProperty: true, visibilityProperty: true };
      const own = node.parentElement;
      if (node.data.trim() === '' || !own.checkVisibility(shown)) continue;
      if (own.closest('[aria-hidden=true], option, noscript, script, style')) continue;
      if (isOnlyHeard(node)) continue;
      range.selectNodeContents(node);
      const lines = [...range.getClientRects()]
        .map((line) => within(line, windowOf(node)))
        .filter((line) => line.right > line.left && line.bottom > line.top);
      found.push({ node, own, lines, text: node.data.trim() });
    }
    return found;
  }

  /** The box around the words of a text: a space at the end of a line may stand out of its box. */
  function boxOfWords(node) {
    const range = document.createRange();
    const boxes = [...node.data.matchAll(/\S+/g)].map(({ index, 0: word }) => {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      return range.getBoundingClientRect();
    });
    return {
      left: Math.min(...boxes.map((box) => box.left)),
      right: Math.max(...boxes.map((box) => box.right)),
      top: Math.min(...boxes.map((box) => box.top)),
      bottom: Math.max(...boxes.map((box) => box.bottom)),
    };
  }

  /** Texts that their box, their card or the window cuts off, and that cannot be scrolled to. */
  function* cutOff({ node, own, text }) {
    const { left, right, bottom, top } = boxOfWords(node);
    // A menu beside the window comes when it is called.
    if (right <= 0 || left >= windowWidth()) return;
    for (const [box, style] of boxesAround(node)) {
      const edge = box.getBoundingClientRect();
      if (clips(style) && style.textOverflow === 'ellipsis') {
        const isCut = box.scrollWidth > box.clientWidth + 1;
        const isNamed = box.closest('[title]') || own.closest('[title]');
        if (isCut && own.closest('button, th, label, .mantine-Badge-root') && !isNamed)
          yield `cut short: ${text}`;
        else if (isCut && edge.width < shortenedMin) yield `cut to ${edge.width} px: ${text}`;
        return;
      }
      if (style.webkitLineClamp !== 'none' || scrolls(style)) return;
      const isCard = box.matches('.mantine-Card-root');
      const isPage = box === document.documentElement;
      if (!clips(style) && !isCard && !isPage) continue;
      const end = isPage
        ? windowWidth()
        : edge.right - (isCard ? parseFloat(style.paddingRight) : 0);
      if (right > end + 1 || left < edge.left - 1) yield `cut off: ${text}`;
      const isLow = /hidden|clip/.test(style.overflowY) && edge.height > 0;
      if (isLow && !isPage && (bottom > edge.bottom + 2 || top < edge.top - 2))
        yield `cut off below: ${text}`;
      if (style.position === 'fixed') return;
    }
  }

  /** Short words that go on in the next line. */
  function* broken({ node, own, text }) {
    if (own.closest(code) || /mono/i.test(getComputedStyle(own).fontFamily)) return;
    const range = document.createRange();
    for (const { index, 0: word } of node.data.matchAll(/[\p{L}\p{N}_]{2,}/gu)) {
      if (word.length > wordMax) continue;
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      // WebKit gives the end of the line before as well, without a width.
      const parts = [...range.getClientRects()].filter(({ width }) => width > 0);
      const tops = new Set(parts.map(({ top }) => Math.round(top)));
      if (tops.size > 1) return yield `broken: ${word} in ${text}`;
    }
  }

  /** Texts that are not in the typeface of the look. */
  function* otherFace({ own, text }) {
    const look = getComputedStyle(document.documentElement).getPropertyValue('--font');
    const face = look.split(',')[0].replaceAll(/['"]/g, '').trim();
    const { fontFamily } = getComputedStyle(own);
    if (own.closest(`${code}, math`) || /mono/i.test(fontFamily)) return;
    if (!fontFamily.includes(face)) yield `in another typeface: ${text}`;
  }

  const nameOf = (element) =>
    (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60) ||
    element.outerHTML.slice(0, 80);

  /** Texts and controls that lie on each other. */
  function* overlapping(list) {
    const boxes = list.flatMap(({ own, lines, text }) =>
      own.closest('svg')
        ? []
        : lines.map((line) => {
            // Lines of text may touch.
            const gap = (line.bottom - line.top) / 4;
            return { ...line, top: line.top + gap, bottom: line.bottom - gap, element: own, text };
          }),
    );
    for (const element of document.querySelectorAll(controls)) {
      const { width } = element.getBoundingClientRect();
      const box = within(element.getBoundingClientRect(), windowOf(element));
      const isSeen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      // A link around words of several lines has a box that is not its own.
      const isInline = getComputedStyle(element).display === 'inline';
      if (isSeen && !isInline && width > 1 && box.right > 0 && box.left < windowWidth())
        boxes.push({ ...box, element, text: nameOf(element) });
    }
    const layers = new Map(boxes.map(({ element }) => [element, layerOf(element)]));
    boxes.sort((a, b) => a.top - b.top);
    for (const [i, a] of boxes.entries())
      for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom - 2; j++) {
        const b = boxes[j];
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - b.top;
        if (wide <= 3 || high <= 3 || a.element === b.element) continue;
        if (layers.get(a.element) !== layers.get(b.element)) continue;
        if (a.element.contains(b.element) || b.element.contains(a.element)) continue;
        // Marks and buttons lie on the picture of a tile.
        if ([a, b].some(({ element }) => element.matches('[data-tile]'))) continue;
        const field = a.element.closest('[class*=Input-wrapper], label, [role=radiogroup]');
        if (field?.contains(b.element)) continue;
        yield `over each other: ${a.text} | ${b.text}`;
      }
  }

  /** The page, and tables in it, that are wider than their place. */
  function* sideways() {
    const wide = document.documentElement.scrollWidth;
    if (wide > windowWidth()) yield `the page is ${wide} wide`;
    // A table with a column for each series may scroll in its own frame.
    for (const region of document.querySelectorAll('[role=region]:not([data-matrix]), .table'))
      if (region.scrollWidth > region.clientWidth + 1 && !region.closest(code))
        yield `scrolls sideways: ${nameOf(region)}`;
  }

  return {
    faults() {
      const list = texts();
      const each = list.flatMap((text) => [...cutOff(text), ...broken(text), ...otherFace(text)]);
      return [...new Set([...each, ...overlapping(list), ...sideways()])];
    },
    /** Every text of the page, also those that are only heard. */
    words() {
      const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = [document.title];
      for (let node; (node = nodes.nextNode());)
        if (
          !node.parentElement.closest(
            `${code}, script, style, noscript, [role=log], [lang]:not(html)`,
          )
        )
          found.push(node.data.trim());
      for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
        for (const element of document.querySelectorAll(`[${name}]:not([aria-hidden=true])`))
          found.push(element.getAttribute(name).trim());
      return [...new Set(found)].filter((text) => /\p{L}{3}/u.test(text));
    },
  };
})();
