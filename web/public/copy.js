// Each block of code of the public pages gets a button that copies it. Without this file, or over
// plain HTTP, where browsers have no clipboard, the blocks stay as they are.
const isRussian = document.documentElement.lang === 'ru';
const [copy, copied] = isRussian ? ['Копировать', 'Скопировано'] : ['Copy', 'Copied'];
const drawn = (path) => `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`;
const sheets = drawn('M9 9h11v11H9zM5 15H4V4h11v1');
const tick = drawn('M5 12l5 5L20 7');

for (const block of navigator.clipboard ? document.querySelectorAll('.code') : []) {
  const button = document.createElement('button');
  const show = (word, icon) => {
    button.innerHTML = icon;
    button.title = word;
    button.ariaLabel = word;
  };
  let timer;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    show(copied, tick);
    clearTimeout(timer);
    timer = setTimeout(show, 1500, copy, sheets);
  });
  show(copy, sheets);
  block.append(button);
}
